// Where everything is on the screen, and what of it is worth drawing. All arithmetic in float64; pixels are CSS pixels.

const MARGIN = 0.955; // size of the disk as part of what would just fit
const BINS = 64;
const MOST_AT_REST = 80000; // edges, the nearest to the focus; more would only make it grey
const EDGE_WIDTH = 1.1, LINK = { width: 1.1, dash: 4 }, MARKED = { width: 1.7, alpha: 0.75, most: 80 }; // lines, in pixels; more than `most` are fainter
const TAPER = 0.75; // of a line that narrows: by how much its width at the source exceeds the middle's

function makeScene(data) {
  const { count, points, time, degree } = data;
  const scene = {
    data,
    view: IDENTITY,
    zoom: 1,
    shift: [0, 0], // of the disk's centre from the window's, in pixels
    width: 1, height: 1, radius: 1,
    disk: new Float64Array(2 * count), // places in the Poincaré disk, after the view
    gap: new Float32Array(count), // 1 - |z|², how large things are there; 1 in the centre, 0 on the rim
    x: new Float32Array(count), y: new Float32Array(count), // pixels
    size: new Float32Array(count), // a node's radius in pixels; 0 if it is not shown
    farthest: data.radius.reduce((most, radius) => Math.max(most, radius), 0),
    hidden: new Uint8Array(count), // by any facet
    get shown() { return data.facet.shown; },
    most: MOST_AT_REST, // edges at once
    typesShown: new Uint8Array(data.typeLegend.length + 1).fill(1), // the last: types that only predicted links have
    strength: 1, // of edges: the more are drawn, the fainter
  };
  // Large nodes first, so that small ones lie on top of them.
  scene.order = Uint32Array.from({ length: count }, (_, i) => i).sort((i, j) => degree[j] - degree[i] || i - j);
  const crowd = Math.min(1, Math.max(0.4, (1500 / Math.max(count, 1)) ** 0.25));
  const plainSize = Float32Array.from(degree, (d) => crowd * (3.2 + 1.15 * Math.sqrt(Math.min(d, 400))));
  const bin = new Uint8Array(count); // of a node: how near the focus, 0 is nearest
  let edgeBin, sorted;

  scene.edgesChanged = () => {
    edgeBin = new Uint8Array(data.edges.count);
    sorted = new Uint32Array(data.edges.count);
  };
  scene.edgesChanged();
  scene.filter = () => {
    scene.hidden.fill(0);
    for (const { group, shown } of data.facets) {
      if (!shown.every(Boolean)) group.forEach((of, i) => { scene.hidden[i] |= 1 - shown[of]; });
    }
  };
  scene.resize = (width, height) => {
    Object.assign(scene, { width, height, radius: MARGIN * 0.5 * Math.min(width, height) });
  };
  scene.centre = () => [scene.width / 2 + scene.shift[0], scene.height / 2 + scene.shift[1]];
  scene.scale = () => scene.zoom * scene.radius;
  scene.toPixels = ([x, y]) => {
    const [cx, cy] = scene.centre();
    return [cx + scene.scale() * x, cy - scene.scale() * y];
  };
  scene.toDisk = ([x, y]) => {
    const [cx, cy] = scene.centre();
    return [(x - cx) / scene.scale(), (cy - y) / scene.scale()];
  };
  // x, y on the hyperboloid after the view: what the node's disk coordinates cannot hold near the rim.
  scene.onHyperboloid = (i) => {
    const [xx, xy, xt, yx, yy, yt] = hyperboloidRows(scene.view);
    const x = points[2 * i], y = points[2 * i + 1], t = time[i];
    return [xx * x + xy * y + xt * t, yx * x + yy * y + yt * t];
  };

  scene.project = () => {
    const [xx, xy, xt, yx, yy, yt] = hyperboloidRows(scene.view);
    const [cx, cy] = scene.centre(), scale = scene.scale();
    const { disk, gap, x, y, size, hidden } = scene, enlarged = scene.zoom ** 0.55 * Math.min(1.2, Math.max(0.5, scene.radius / 420));
    for (let i = 0; i < count; i++) {
      const px = points[2 * i], py = points[2 * i + 1], t = time[i];
      const hx = xx * px + xy * py + xt * t, hy = yx * px + yy * py + yt * t;
      const share = 1 / (1 + Math.sqrt(1 + hx * hx + hy * hy)), g = 2 * share;
      disk[2 * i] = hx * share;
      disk[2 * i + 1] = hy * share;
      x[i] = cx + scale * hx * share;
      y[i] = cy - scale * hy * share;
      gap[i] = g;
      bin[i] = Math.min(BINS - 1, -4 * Math.log2(g));
      size[i] = hidden[i] ? 0 : Math.max(0.55, plainSize[i] * enlarged * Math.sqrt(g));
    }
  };

  // The entry of the legend that a pair's type belongs to.
  scene.typeOf = (pairs, e) => scene.placeOfType(pairs.type[e]);
  scene.placeOfType = (type) => (
    type < data.typesOfRelationships ? Math.min(type, data.typeLegend.length - 1) : data.typeLegend.length
  );
  scene.pairShown = (pairs, e) => scene.size[pairs.source[e]] > 0 && scene.size[pairs.target[e]] > 0
    && (!pairs.typed || scene.typesShown[scene.typeOf(pairs, e)] > 0);

  // The edges in the order of their nearness to the focus, as far as `budget` of them; hidden ones left out.
  scene.nearestEdges = (budget) => {
    const { edges } = data, { source, target } = edges, counts = new Uint32Array(BINS + 1);
    for (let e = 0; e < edges.count; e++) {
      const p = bin[source[e]], q = bin[target[e]];
      const of = scene.pairShown(edges, e) ? (p < q ? 3 * p + q : 3 * q + p) >> 2 : BINS;
      edgeBin[e] = of;
      counts[of]++;
    }
    const most = Math.min(budget, scene.most), left = edges.count - counts[BINS];
    scene.strength = Math.min(0.65, Math.max(0.03, 22 / Math.sqrt(Math.max(Math.min(left, scene.most), 1))));
    let last = 0, total = 0;
    while (last < BINS && total + counts[last] <= most) total += counts[last++];
    const wanted = Math.min(most, left);
    const next = new Uint32Array(BINS);
    for (let k = 1; k < BINS; k++) next[k] = next[k - 1] + counts[k - 1];
    for (let e = 0; e < edges.count; e++) {
      const of = edgeBin[e];
      if (of < last || (of === last && of < BINS && next[of] < wanted)) sorted[next[of]++] = e;
    }
    return sorted.subarray(0, wanted);
  };
  // How strongly an edge is drawn: the farther from the focus, the fainter.
  scene.edgeAlpha = (e) => {
    const near = 1 - Math.min(edgeBin[e], 44) / 44;
    return scene.strength * (0.15 + 0.85 * near) * (scene.edgeInk(e) ? 1 : 0.8);
  };
  // The place of an edge's colour: that of its type; of one type only that of its group, if both ends are of one; else 0.
  scene.edgeInk = (e) => {
    const { group, legend, edges } = data, of = group[edges.source[e]];
    if (data.byType) return 1 + scene.typeOf(edges, e);
    return legend.length && of === group[edges.target[e]] && !legend[of].other ? 1 + of : 0;
  };

  // The geodesic between two nodes as it is on the screen: the middle control point, its weight and its height above the
  // chord; null out of sight.
  const bent = new Float64Array(3), arc = { x: 0, y: 0, weight: 1, rise: 0, straight: true };
  scene.arc = (a, b) => {
    const { disk, x, y, width, height } = scene, scale = scene.scale();
    geodesic(disk[2 * a], disk[2 * a + 1], disk[2 * b], disk[2 * b + 1], bent, 0);
    const mx = scene.width / 2 + scene.shift[0] + scale * bent[0], my = scene.height / 2 + scene.shift[1] - scale * bent[1];
    const xa = x[a], ya = y[a], xb = x[b], yb = y[b];
    if (Math.max(xa, xb, mx) < 0 || Math.min(xa, xb, mx) > width) return null;
    if (Math.max(ya, yb, my) < 0 || Math.min(ya, yb, my) > height) return null;
    const ux = mx - 0.5 * (xa + xb), uy = my - 0.5 * (ya + yb);
    const rise = Math.sqrt(ux * ux + uy * uy) * bent[2] / (1 + bent[2]);
    arc.x = mx; arc.y = my; arc.weight = bent[2]; arc.rise = rise; arc.straight = rise < 0.4;
    return arc;
  };

  // The shown node under a place in pixels, or -1.
  scene.nodeAt = (px, py, reach) => {
    const { x, y, size } = scene;
    let found = -1, best = reach;
    for (let i = 0; i < count; i++) {
      const dx = x[i] - px, dy = y[i] - py;
      if (dx > 40 || dx < -40 || dy > 40 || dy < -40 || !size[i]) continue;
      const outside = Math.sqrt(dx * dx + dy * dy) - size[i];
      if (outside < best) { best = outside; found = i; }
    }
    return found;
  };
  scene.nodeNearestCentre = () => {
    let found = -1;
    for (let i = 0; i < count; i++) if (scene.size[i] && (found < 0 || scene.gap[i] > scene.gap[found])) found = i;
    return found;
  };
  return scene;
}
