// The page's data, out of the JSON beside the scripts.

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

function unpacked({ type, base64 }) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new TYPES[type](bytes.buffer); // little-endian, as is every machine that has a browser
}

// Pairs (row, column) as two arrays, the place of each one's type, and whether it narrows from row to column.
function unpackedPairs({ counts, columns, kind }) {
  const perRow = unpacked(counts), target = unpacked(columns);
  const source = new Uint32Array(target.length);
  let at = 0;
  for (let row = 0; row < perRow.length; row++) {
    for (let k = perRow[row]; k > 0; k--) source[at++] = row;
  }
  const kinds = kind ? unpacked(kind) : new Uint8Array(target.length).fill(1);
  return {
    source, target, count: target.length, typed: Boolean(kind),
    type: kinds.map((k) => k >> 1), narrows: Uint8Array.from(kinds, (k) => 1 - (k & 1)),
  };
}

// For each node the places of its pairs: pairs start[i] .. start[i + 1] of `places`.
function incidence(pairs, count) {
  const start = new Uint32Array(count + 1);
  for (let e = 0; e < pairs.count; e++) { start[pairs.source[e] + 1]++; start[pairs.target[e] + 1]++; }
  for (let i = 0; i < count; i++) start[i + 1] += start[i];
  const next = start.slice(), places = new Uint32Array(2 * pairs.count);
  for (let e = 0; e < pairs.count; e++) {
    places[next[pairs.source[e]]++] = e;
    places[next[pairs.target[e]]++] = e;
  }
  return { start, places };
}

// How many different nodes each node is joined to, by whatever types.
function degrees(pairs, { start, places }, count) {
  const degree = new Uint32Array(count), metBy = new Int32Array(count).fill(-1);
  for (let i = 0; i < count; i++) {
    for (let k = start[i]; k < start[i + 1]; k++) {
      const other = otherEnd(pairs, places[k], i);
      if (metBy[other] !== i) { metBy[other] = i; degree[i]++; }
    }
  }
  return degree;
}

function readData() {
  const raw = JSON.parse(document.getElementById("data").textContent);
  const count = raw.count, points = unpacked(raw.points);
  const edges = unpackedPairs(raw.edges), edgesOf = incidence(edges, count);
  const types = raw.types ?? { names: [], legend: [] };
  const links = raw.links ? unpackedPairs(raw.links) : { source: [], target: [], count: 0 };
  if (raw.links) {
    links.distance = unpacked(raw.links.distance);
    links.probability = raw.links.probability ? unpacked(raw.links.probability) : null;
  }
  const degree = degrees(edges, edgesOf, count), radius = new Float64Array(count), time = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const square = points[2 * i] ** 2 + points[2 * i + 1] ** 2;
    radius[i] = Math.asinh(Math.sqrt(square));
    time[i] = Math.sqrt(1 + square);
  }
  return {
    count, points, time, radius, degree, edges, edgesOf, links, linksOf: incidence(links, count),
    names: raw.names, group: unpacked(raw.group), legend: raw.legend, scale: raw.scale, properties: raw.properties,
    typeNames: types.names, typeLegend: types.legend, byType: types.legend.length > 1, // else a colour would say nothing
    relationships: types.names.length ? types.legend.reduce((sum, { count }) => sum + count, 0) : edges.count,
    neighbours: raw.neighbours && {
      width: raw.neighbours.width,
      partner: unpacked(raw.neighbours.partner),
      distance: unpacked(raw.neighbours.distance),
    },
    title: raw.title, note: raw.note,
  };
}

// The other end of pair e, seen from node i.
function otherEnd(pairs, e, i) {
  return pairs.source[e] === i ? pairs.target[e] : pairs.source[e];
}
