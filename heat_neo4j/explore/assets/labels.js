// What is drawn with the 2D canvases: the disk and its rings below the graph, names and marks above it.

function fitted(canvas, width, height, density) {
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  const pen = canvas.getContext("2d");
  pen.setTransform(density, 0, 0, density, 0, 0);
  return pen;
}

const FONT = '"Segoe UI", Roboto, system-ui, "DejaVu Sans", sans-serif';

function makeLabels(ground, canvas, scene) {
  const { data } = scene;
  const widths = new Map(); // of names, as drawn at 12 pixels
  let below, above, threshold = 0, before = new Set();
  const labels = { shown: [] };

  labels.resize = (density) => {
    below = fitted(ground, scene.width, scene.height, density);
    above = fitted(canvas, scene.width, scene.height, density);
  };

  function ring(pen, { x, y, size }) {
    const [cx, cy] = scene.toPixels([x, y]);
    pen.beginPath();
    pen.arc(cx, cy, size * scene.scale(), 0, 2 * Math.PI);
  }

  // The disk, and circles of whole distances around the embedding's centre, wherever that has gone.
  labels.ground = (colours) => {
    below.clearRect(0, 0, scene.width, scene.height);
    ring(below, { x: 0, y: 0, size: 1 });
    below.fillStyle = colours.css.disk;
    below.fill();
    below.lineWidth = 1.25;
    below.strokeStyle = colours.css.ink;
    below.globalAlpha = 0.55;
    below.stroke();
    below.globalAlpha = 1;
    below.lineWidth = 1;
    below.strokeStyle = colours.css.hair;
    below.font = `10px ${FONT}`;
    below.textAlign = "center";
    below.textBaseline = "middle";
    const middle = moved(scene.view, [0, 0]);
    for (let distance = 1; distance <= Math.ceil(scene.farthest); distance++) {
      const found = circle(middle, distance);
      if (found.size * scene.scale() < 2) continue;
      ring(below, found);
      below.stroke();
      const [x, y] = scene.toPixels([found.x, found.y - found.size]);
      if (distance > 1 && Math.hypot(found.x, found.y - found.size) > 0.985) continue;
      const plate = below.measureText(String(distance)).width / 2 + 2;
      below.fillStyle = colours.css.disk;
      below.fillRect(x - plate, y - 6, 2 * plate, 12);
      below.fillStyle = colours.css.soft;
      below.fillText(String(distance), x, y);
    }
    const [x, y] = scene.toPixels(middle);
    below.beginPath();
    below.moveTo(x - 4, y); below.lineTo(x + 4, y); below.moveTo(x, y - 4); below.lineTo(x, y + 4);
    below.strokeStyle = colours.css.soft;
    below.stroke();
  };

  function shortened(name) {
    const letters = [...name.replace(/\s+/g, " ")];
    return letters.length > 30 ? `${letters.slice(0, 29).join("")}…` : letters.join("");
  }

  function widthOf(i) {
    if (!widths.has(i)) widths.set(i, above.measureText(shortened(data.names[i])).width);
    return widths.get(i);
  }

  // Nodes that deserve a name most, best first. What had one keeps it more easily: names must not flicker.
  function candidates(forced, most) {
    const { x, y, size, gap, width, height } = scene, { degree } = scene.data, found = [], score = new Map();
    for (let i = 0; i < data.count; i++) {
      if (!size[i] || x[i] < 0 || y[i] < 0 || x[i] > width || y[i] > height) continue;
      const worth = (size[i] + 0.4 * Math.log2(1 + degree[i])) * (0.25 + gap[i]) * (before.has(i) ? 1.25 : 1);
      if (worth < threshold || gap[i] * scene.scale() < 14) continue;
      found.push(i);
      score.set(i, worth);
    }
    // The threshold follows the crowd, so that few candidates are left to sort.
    if (found.length > 8 * most) threshold = Math.max(threshold, 0.1) * 1.3;
    else if (found.length < 3 * most) threshold *= 0.8;
    found.sort((i, j) => score.get(j) - score.get(i) || i - j);
    return [...forced, ...found.filter((i) => !forced.includes(i))];
  }

  // Names, the most important first, each where no other is.
  labels.names = (colours, { selected, hovered, near, moving }) => {
    above.clearRect(0, 0, scene.width, scene.height);
    const { x, y, size } = scene;
    const mark = (i, colour, extra, line) => {
      if (i < 0 || !size[i]) return;
      above.beginPath();
      above.arc(x[i], y[i], size[i] + extra, 0, 2 * Math.PI);
      above.lineWidth = line;
      above.strokeStyle = colour;
      above.stroke();
    };
    for (const i of near) mark(i, colours.css.accent, 2.5, 1.25);
    mark(selected, colours.css.accent, 4.5, 2.5);
    mark(hovered, colours.css.ink, 3, 1.5);

    above.font = `12px ${FONT}`;
    above.textBaseline = "middle";
    above.textAlign = "left";
    above.lineJoin = "round";
    const room = Math.ceil(scene.width * scene.height / 17000), most = Math.min(90, moving ? room / 2 : room);
    const forced = [selected, hovered, ...near].filter((i, k, all) => i >= 0 && size[i] && all.indexOf(i) === k);
    const taken = [], chosen = new Set();
    for (const i of data.names.length ? candidates(forced, most) : []) {
      if (chosen.size >= most + forced.length) break;
      const wide = widthOf(i), high = 15, away = size[i] + 4;
      const places = [
        [x[i] + away, y[i] - high / 2], [x[i] - away - wide, y[i] - high / 2],
        [x[i] - wide / 2, y[i] - away - high + 2], [x[i] - wide / 2, y[i] + away - 2],
      ];
      const free = places.find(([left, top]) => !taken.some(
        (box) => left < box[2] && box[0] < left + wide + 6 && top < box[3] && box[1] < top + high,
      ));
      if (!free) continue;
      taken.push([free[0], free[1], free[0] + wide + 6, free[1] + high]);
      chosen.add(i);
      const strong = i === selected || i === hovered;
      above.globalAlpha = strong || near.has(i) ? 1 : 0.92;
      above.lineWidth = 3.5;
      above.strokeStyle = colours.css.disk;
      above.fillStyle = strong || near.has(i) || !(data.legend.length || data.scale) ? colours.css.ink : colours.text[data.group[i]];
      if (strong) above.font = `650 12px ${FONT}`;
      above.strokeText(shortened(data.names[i]), free[0], free[1] + high / 2);
      above.fillText(shortened(data.names[i]), free[0], free[1] + high / 2);
      if (strong) above.font = `12px ${FONT}`;
    }
    above.globalAlpha = 1;
    before = chosen;
    labels.shown = [...chosen];
  };
  return labels;
}
