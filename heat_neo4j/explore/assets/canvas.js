// Draws edges and nodes with the plain 2D canvas, where there is no graphics processor: the same picture as webgl.js,
// to which it is the twin. Many things of one colour go into one path; nodes of about a pixel are set as pixels.
// It also draws pictures to save, with the sheets and outlines of its `kit`.

const TOGETHER = 160; // arcs in one path: where they cross within it, they do not darken
const LEVELS = 8; // of faintness
const DUST = 1.25; // radius below which a node is pixels
const PIECES = 14; // at most, of the outline of an arc that narrows
const MOST_DASHES = 300; // of a line that narrows: where it is magnified they grow
const FEW = 1200; // discs that may be drawn one by one, outlined and in order

const SCREEN = { newSheet: () => document.createElement("canvas"), Outline: Path2D, dust: DUST };

function makeCanvasPainter(canvas, scene, kit = SCREEN) {
  const { data } = scene;
  const pen = canvas.getContext("2d");
  const picture = kit.newSheet(), sketch = picture.getContext("2d");
  const dust = SCREEN.newSheet(), sieve = dust.getContext("2d");
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

  function addArc(on, a, b, arc) {
    const xa = scene.x[a], ya = scene.y[a], xb = scene.x[b], yb = scene.y[b];
    on.moveTo(xa, ya);
    if (arc.straight) on.lineTo(xb, yb);
    else on.arcTo(arc.x, arc.y, xb, yb, 0.5 * Math.hypot(xa - xb, ya - yb) / Math.sqrt(Math.max(1 - arc.weight * arc.weight, 1e-12)));
  }

  // The piece of a line that narrows from `from` to `to`, shares of its way, as an outline of straight pieces.
  const outline = new Float64Array(4 * (PIECES + 1));
  function addRibbon(on, a, b, arc, width, pieces, from = 0, to = 1) {
    const { x, y } = scene, last = 2 * pieces + 1;
    for (let k = 0; k <= pieces; k++) {
      const t = from + (to - from) * k / pieces, u = 1 - t, w = arc.weight;
      const p = u * u, q = 2 * u * t * w, r = t * t, under = p + q + r;
      const px = (p * x[a] + q * arc.x + r * x[b]) / under, py = (p * y[a] + q * arc.y + r * y[b]) / under;
      const dx = -u * (x[a] - px) + (u - t) * w * (arc.x - px) + t * (x[b] - px);
      const dy = -u * (y[a] - py) + (u - t) * w * (arc.y - py) + t * (y[b] - py);
      const reach = 0.5 * width * (1 + TAPER * (u - t)) / Math.max(Math.hypot(dx, dy), 1e-6);
      outline[2 * k] = px - reach * dy; outline[2 * k + 1] = py + reach * dx;
      outline[2 * (last - k)] = px + reach * dy; outline[2 * (last - k) + 1] = py - reach * dx;
    }
    on.moveTo(outline[0], outline[1]);
    for (let k = 1; k <= last; k++) on.lineTo(outline[2 * k], outline[2 * k + 1]);
    on.closePath();
  }
  const piecesOf = (arc) => Math.min(PIECES, Math.max(1, Math.ceil(2 * Math.sqrt(arc.rise))));

  painter.edges = (chosen, from, to) => {
    if (from === 0) sketch.clearRect(0, 0, scene.width, scene.height);
    sketch.lineWidth = EDGE_WIDTH;
    const paths = new Map();
    const finish = (key, { line, colour, alpha, narrows }) => {
      sketch.strokeStyle = sketch.fillStyle = css(colour, alpha);
      if (narrows) sketch.fill(line);
      else sketch.stroke(line);
      paths.delete(key);
    };
    for (let k = from; k < to; k++) {
      const e = chosen[k], ink = scene.edgeInk(e), narrows = data.edges.narrows[e], a = data.edges.source[e], b = data.edges.target[e];
      const arc = scene.arc(a, b);
      if (!arc) continue;
      const level = Math.max(1, Math.round(scene.edgeAlpha(e) * LEVELS / scene.strength)), key = 2 * (ink * (LEVELS + 1) + level) + narrows;
      let path = paths.get(key);
      if (!path) {
        path = { line: new kit.Outline(), count: 0, colour: colours.edges[ink], alpha: scene.strength * level / LEVELS, narrows };
        paths.set(key, path);
      }
      if (narrows) addRibbon(path.line, a, b, arc, EDGE_WIDTH, piecesOf(arc));
      else addArc(path.line, a, b, arc);
      if (++path.count === TOGETHER) finish(key, path);
    }
    for (const [key, path] of paths) finish(key, path);
  };

  // Lines of one colour and strength, whole or dashed, into one path.
  function drawLines(lines, width, colour, alpha, dash = 0) {
    const whole = new kit.Outline(), ribbons = new kit.Outline();
    for (const { a, b, narrows } of lines) {
      const arc = scene.arc(a, b);
      if (!arc) continue;
      if (!narrows) addArc(whole, a, b, arc);
      else if (!dash) addRibbon(ribbons, a, b, arc, width, piecesOf(arc));
      else addDashes(ribbons, a, b, arc, width, dash);
    }
    pen.strokeStyle = pen.fillStyle = css(colour, alpha);
    pen.lineWidth = width;
    pen.setLineDash(dash ? [dash, dash] : []);
    pen.stroke(whole);
    pen.setLineDash([]);
    pen.fill(ribbons);
  }
  function addDashes(on, a, b, arc, width, dash) {
    const share = Math.max(dash / Math.hypot(scene.x[a] - scene.x[b], scene.y[a] - scene.y[b]), 0.5 / MOST_DASHES);
    for (let from = 0; from < 1; from += 2 * share) addRibbon(on, a, b, arc, width, 1, from, Math.min(1, from + share));
  }
  function drawByType(lines, width, inks, alphaOf, dash) {
    inks.forEach((colour, type) => {
      const own = lines.filter((line) => line.type === type);
      for (let from = 0; from < own.length; from += TOGETHER) {
        drawLines(own.slice(from, from + TOGETHER), width, colour, alphaOf(own[from]), dash);
      }
    });
  }

  painter.screen = (links, marked) => {
    pen.clearRect(0, 0, scene.width, scene.height);
    pen.drawImage(picture, 0, 0, scene.width, scene.height);
    drawByType(links, LINK.width, colours.links, ({ alpha }) => alpha, LINK.dash);
    drawByType(marked.edges, MARKED.width, colours.marks, () => marked.alpha);
    drawByType(marked.links, MARKED.width, colours.links, () => 0.95, LINK.dash);
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
      if (s >= kit.dust) { discs.push(i); continue; }
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
      const key = (size[i] > 9 ? 0 : size[i] > 4.5 ? 1 : 2) * 128 + data.group[i];
      if (!heaps.has(key)) heaps.set(key, []);
      heaps.get(key).push(i);
    }
    for (const key of [...heaps.keys()].sort((p, q) => p - q)) {
      pen.beginPath();
      for (const i of heaps.get(key)) {
        pen.moveTo(x[i] + size[i], y[i]);
        pen.arc(x[i], y[i], size[i], 0, 2 * Math.PI);
      }
      pen.fillStyle = css(colours.palette[key % 128], 0.94);
      pen.fill();
      if (key < 256) pen.stroke();
    }
  }
  return painter;
}
