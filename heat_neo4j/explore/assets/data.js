// The page's data: numbers and names of nodes, pairs of nodes, and what belongs to one node. It comes in parts, out
// of the elements beside the scripts.

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

function bytesOf(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function unpacked({ type, base64 }) {
  return new TYPES[type](bytesOf(base64).buffer); // little-endian, as is every machine that has a browser
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

// The other end of pair e, seen from node i.
function otherEnd(pairs, e, i) {
  return pairs.source[e] === i ? pairs.target[e] : pairs.source[e];
}

// How pair e leads, seen from node i.
function wayOf(pairs, e, i) {
  if (!pairs.typed) return "";
  if (!pairs.narrows[e]) return "both";
  return pairs.source[e] === i ? "out" : "in";
}

async function inflated(id) {
  const bytes = bytesOf(document.getElementById(id).textContent);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

const NO_PAIRS = { source: [], target: [], type: [], narrows: [], count: 0, typed: false };

// What nodes can be coloured and filtered by: `shown` says of which groups or shades.
function facetOf({ name, legend, group, scale }) {
  return { name, legend, scale, group: unpacked(group), shown: new Uint8Array(scale ? scale.shades + 1 : Math.max(legend.length, 1)).fill(1) };
}

// From the first part; the others are taken up as they come.
function makeData(raw) {
  const { count } = raw, points = unpacked(raw.points), radius = new Float64Array(count), time = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const square = points[2 * i] ** 2 + points[2 * i + 1] ** 2;
    radius[i] = Math.asinh(Math.sqrt(square));
    time[i] = Math.sqrt(1 + square);
  }
  const types = raw.types ?? { names: [], legend: [] }, nothing = incidence(NO_PAIRS, count);
  const data = {
    count, points, time, radius, degree: unpacked(raw.degree), relationships: raw.relationships, linksTotal: 0,
    facets: [facetOf(raw.facet)], facet: null, group: null, legend: [], scale: null, // the facet that gives the colours
    names: [], keys: [], space: null, edges: NO_PAIRS, edgesOf: nothing, links: NO_PAIRS, linksOf: nothing, same: NO_PAIRS, sameOf: nothing, properties: [], neighbours: null,
    typeNames: types.names, typeLegend: types.legend, byType: types.legend.length > 1, // else a colour would say nothing
    typesOfRelationships: types.names.length, runs: [],
  };
  colourBy(data, 0);
  return data;
}
function colourBy(data, place) {
  const facet = data.facets[place], { group, legend, scale } = facet;
  Object.assign(data, { facet, group, legend, scale });
}

const TAKE = {
  edges(data, raw) {
    data.edges = unpackedPairs(raw);
    data.edgesOf = incidence(data.edges, data.count);
  },
  names(data, raw) { data.names = data.keys = raw; },
  facets(data, raw) { data.facets.push(...raw.map(facetOf)); },
  links(data, raw) {
    if (!raw) return;
    data.links = unpackedPairs(raw);
    data.links.distance = raw.distance ? unpacked(raw.distance) : null; // in thousandths
    data.links.probability = raw.probability ? unpacked(raw.probability) : null;
    data.linksOf = incidence(data.links, data.count);
    data.linksTotal = raw.total;
    data.typeNames = [...data.typeNames, ...raw.types ?? []];
  },
  same(data, raw) {
    if (!raw) return;
    data.same = unpackedPairs({ counts: raw.counts, columns: raw.columns }); // whatever their type is called
    data.same.probability = raw.probability ? unpacked(raw.probability) : null;
    data.same.distance = raw.distance ? unpacked(raw.distance) : null;
    data.sameOf = incidence(data.same, data.count);
  },
  lists(data, { properties, neighbours, space, keys }) {
    data.properties = properties;
    data.space = space ? { dimensions: space.dimensions, radius: unpacked(space.radius) } : null; // radius in thousandths
    data.keys = keys ?? data.names;
    data.neighbours = neighbours && {
      width: neighbours.width, partner: unpacked(neighbours.partner), distance: unpacked(neighbours.distance),
    };
  },
  runs(data, raw) { data.runs = raw; },
};

// Nodes are addressed by their keys; of several with one key, by which of them it is.
function addressOf(data, i) {
  const nth = data.keys.slice(0, i + 1).filter((key) => key === data.keys[i]).length;
  return new URLSearchParams({ node: data.keys[i], ...(nth > 1 ? { nth } : {}) });
}
function nodeOf(data, address) {
  const key = address.get("node");
  let left = Number(address.get("nth") ?? 1);
  return key === null ? -1 : data.keys.findIndex((each) => each === key && --left === 0);
}

const LISTED = 30; // relationships of a node

// What belongs to a node.
function detailsOf(data, i) {
  const { neighbours, edges } = data, own = ({ start, places }) => Array.from(places.subarray(start[i], start[i + 1]));
  const entry = (pairs, e) => ({
    node: otherEnd(pairs, e, i), type: pairs.typed ? data.typeNames[pairs.type[e]] : "", way: wayOf(pairs, e, i),
  });
  const near = neighbours ? Array.from({ length: neighbours.width }, (_, k) => i * neighbours.width + k) : [];
  const likeliest = (pairs, of) => {
    const worth = (e) => (pairs.probability ? -pairs.probability[e] : pairs.distance[e]);
    return own(of).sort((e, f) => worth(e) - worth(f) || e - f).map((e) => ({
      ...entry(pairs, e),
      probability: pairs.probability ? pairs.probability[e] : null,
      distance: pairs.distance ? pairs.distance[e] / 1000 : null,
    }));
  };
  const relationships = own(data.edgesOf).map((e) => entry(edges, e)).sort((a, b) => data.degree[b.node] - data.degree[a.node]);
  return {
    properties: data.properties.map(([name, values]) => [name, values[i]]),
    neighbours: near.map((k) => ({ node: neighbours.partner[k], distance: neighbours.distance[k] / 1000 })),
    links: likeliest(data.links, data.linksOf),
    same: likeliest(data.same, data.sameOf),
    relationships: relationships.slice(0, LISTED),
    relationshipCount: relationships.length,
  };
}
