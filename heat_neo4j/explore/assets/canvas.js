// Draws edges and nodes with the plain 2D canvas, where there is no graphics processor: the same picture as webgl.js,
// to which it is the twin. Many things of one colour go into one path; nodes of about a pixel are set as pixels.

const TOGETHER = 160; // arcs in one path: where they cross within it, they do not darken
const LEVELS = 8; // of faintness
const DUST = 1.25; // radius below which a node is pixels
const FEW = 1200; // discs that may be drawn one by one, outlined and in order

function makeCanvasPainter(canvas, scene) {
  const { data } = scene;
  const pen = canvas.getContext("2d");
  const picture = document.createElement("canvas"), sketch = picture.getContext("2d");
  const dust = document.createElement("canvas"), sieve = dust.getContext("2d");
  let density = 1, colours = null, pixels = null, words = null, inks = [];
  const painter = { kind: "canvas" };

  painter.resize = (ratio) => {
    density = ratio;
    for (const sheet of [canvas, picture, dust]) {
      sheet.width = Math.round(scene.width * density);
      sheet.height = Math.round(scene.height * density);
    }
    pen.setTransform(density, 0, 0, density, 0, 0);
    sketch.setTransform(density, 0, 0, density, 0, 0);
    pixels = sieve.createImageData(dust.width, dust.height);
    words = new Uint32Array(pixels.data.buffer);
  };
  painter.recolour = (chosen) => {
    colours = chosen;
    inks = colours.palette.map(([red, green, blue]) => (0xe0000000 | (blue << 16) | (green << 8) | red) >>> 0);
  };

  const css = ([red, green, blue], alpha = 1) => `rgb(${red} ${green} ${blue} / ${alpha})`;

  function addArc(on, a, b) {
    const arc = scene.arc(a, b);
    if (!arc) return false;
    const xa = scene.x[a], ya = scene.y[a], xb = scene.x[b], yb = scene.y[b];
    on.moveTo(xa, ya);
    if (arc.straight) on.lineTo(xb, yb);
    else on.arcTo(arc.x, arc.y, xb, yb, 0.5 * Math.hypot(xa - xb, ya - yb) / Math.sqrt(Math.max(1 - arc.weight * arc.weight, 1e-12)));
    return true;
  }

  painter.edges = (chosen, from, to) => {
    if (from === 0) sketch.clearRect(0, 0, scene.width, scene.height);
    sketch.lineWidth = EDGE_WIDTH;
    const paths = new Map();
    const stroke = (key, path) => {
      sketch.strokeStyle = css(path.colour, path.alpha);
      sketch.stroke(path.line);
      paths.delete(key);
    };
    for (let k = from; k < to; k++) {
      const e = chosen[k], group = scene.edgeGroup(e);
      const level = Math.max(1, Math.round(scene.edgeAlpha(e) * LEVELS / scene.strength)), key = (group + 1) * (LEVELS + 1) + level;
      let path = paths.get(key);
      if (!path) {
        path = { line: new Path2D(), count: 0, colour: group < 0 ? colours.line : colours.palette[group], alpha: scene.strength * level / LEVELS };
        paths.set(key, path);
      }
      if (addArc(path.line, data.edges.source[e], data.edges.target[e]) && ++path.count === TOGETHER) stroke(key, path);
    }
    for (const [key, path] of paths) stroke(key, path);
  };

  function dashed(arcs, width, alpha) {
    pen.lineWidth = width;
    pen.setLineDash([LINK.dash, LINK.dash]);
    pen.strokeStyle = css(colours.link, alpha);
    pen.beginPath();
    for (const { a, b } of arcs) addArc(pen, a, b);
    pen.stroke();
    pen.setLineDash([]);
  }

  painter.screen = (links, marked) => {
    pen.clearRect(0, 0, scene.width, scene.height);
    pen.drawImage(picture, 0, 0, scene.width, scene.height);
    for (let from = 0; from < links.length; from += TOGETHER) {
      const some = links.slice(from, from + TOGETHER);
      dashed(some, LINK.width, some[0].alpha);
    }
    if (marked.edges.length) {
      pen.lineWidth = MARKED.width;
      pen.strokeStyle = css(colours.mark, MARKED.alpha);
      pen.beginPath();
      for (const { a, b } of marked.edges) addArc(pen, a, b);
      pen.stroke();
    }
    if (marked.links.length) dashed(marked.links, MARKED.width, 0.95);
    nodes();
  };

  function nodes() {
    const { order, x, y, size, width, height } = scene, discs = [], wide = dust.width, high = dust.height;
    const thick = density > 1.5 ? 3 : 2; // pixels of the screen
    words.fill(0);
    let any = false;
    for (let k = 0; k < order.length; k++) {
      const i = order[k], s = size[i];
      if (!s || x[i] < -20 || y[i] < -20 || x[i] > width + 20 || y[i] > height + 20) continue;
      if (s >= DUST) { discs.push(i); continue; }
      const left = Math.round(x[i] * density - thick / 2), top = Math.round(y[i] * density - thick / 2);
      if (left < 0 || top < 0 || left + thick > wide || top + thick > high) continue;
      const ink = inks[data.group[i]];
      for (let row = top; row < top + thick; row++) {
        for (let column = left; column < left + thick; column++) words[row * wide + column] = ink;
      }
      any = true;
    }
    if (any) {
      sieve.putImageData(pixels, 0, 0);
      pen.drawImage(dust, 0, 0, width, height);
    }
    pen.lineWidth = 1;
    pen.strokeStyle = css(colours.disk, 0.85);
    if (discs.length <= FEW) {
      for (const i of discs) {
        pen.beginPath();
        pen.arc(x[i], y[i], size[i], 0, 2 * Math.PI);
        pen.fillStyle = css(colours.palette[data.group[i]], 0.94);
        pen.fill();
        if (size[i] > 2.5) pen.stroke();
      }
      return;
    }
    // Large ones first, then by group.
    const heaps = new Map();
    for (const i of discs) {
      const key = (size[i] > 9 ? 0 : size[i] > 4.5 ? 1 : 2) * 16 + data.group[i];
      if (!heaps.has(key)) heaps.set(key, []);
      heaps.get(key).push(i);
    }
    for (const key of [...heaps.keys()].sort((p, q) => p - q)) {
      pen.beginPath();
      for (const i of heaps.get(key)) {
        pen.moveTo(x[i] + size[i], y[i]);
        pen.arc(x[i], y[i], size[i], 0, 2 * Math.PI);
      }
      pen.fillStyle = css(colours.palette[key % 16], 0.94);
      pen.fill();
      if (key < 32) pen.stroke();
    }
  }
  return painter;
}
