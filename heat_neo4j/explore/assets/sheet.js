// Sheets of SVG that take the calls which canvas.js, labels.js and picture.js make of a canvas, and no others.

function svgElement(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const rounded = (number) => Math.round(100 * number) / 100;

// In place of Path2D.
class SvgOutline {
  d = "";
  from = [0, 0];
  moveTo(x, y) { this.from = [x, y]; this.d += `M${rounded(x)} ${rounded(y)}`; }
  lineTo(x, y) { this.from = [x, y]; this.d += `L${rounded(x)} ${rounded(y)}`; }
  closePath() { this.d += "Z"; }
  // A whole circle.
  arc(x, y, radius) {
    const size = rounded(radius);
    this.d += `M${rounded(x + radius)} ${rounded(y)}A${size} ${size} 0 1 1 ${rounded(x - radius)} ${rounded(y)}A${size} ${size} 0 1 1 ${rounded(x + radius)} ${rounded(y)}Z`;
  }
  // An arc that touches its tangents where it begins and ends.
  arcTo(cx, cy, x, y, radius) {
    const [ax, ay] = this.from, turn = (cx - ax) * (y - cy) - (cy - ay) * (x - cx);
    this.d += `A${rounded(radius)} ${rounded(radius)} 0 0 ${Number(turn > 0)} ${rounded(x)} ${rounded(y)}`;
    this.from = [x, y];
  }
}

// A colour as drawing programs read it, which know no alpha in it.
function svgPaint(kind, style, alpha = 1) {
  const [, red, green, blue, own = 1] = /^rgb\((\d+) (\d+) (\d+)(?: \/ ([\d.e-]+))?\)$/.exec(style) ?? [];
  const colour = red === undefined ? style : `rgb(${red},${green},${blue})`;
  return { [kind]: colour, [`${kind}-opacity`]: Math.round(1000 * own * alpha) / 1000 };
}

class SvgPen {
  fillStyle = "#000"; strokeStyle = "#000"; lineWidth = 1; lineJoin = "miter"; globalAlpha = 1;
  font = "10px sans-serif"; textAlign = "left"; textBaseline = "alphabetic";
  #dash = []; #path = new SvgOutline(); #group; #ruler = document.createElement("canvas").getContext("2d");

  constructor(group) { this.#group = group; }
  #add(tag, attributes, ...children) { this.#group.append(svgElement(tag, attributes, ...children)); }

  setTransform() {} // a pixel is a pixel
  setLineDash(dash) { this.#dash = dash; }
  clearRect() { this.#group.replaceChildren(); }
  beginPath() { this.#path = new SvgOutline(); }
  moveTo(x, y) { this.#path.moveTo(x, y); }
  lineTo(x, y) { this.#path.lineTo(x, y); }
  arc(x, y, radius) { this.#path.arc(x, y, radius); }
  fill({ d } = this.#path) { if (d) this.#add("path", { d, ...svgPaint("fill", this.fillStyle, this.globalAlpha) }); }
  #line() {
    const dash = this.#dash.length ? { "stroke-dasharray": this.#dash.join(" ") } : {};
    return { fill: "none", ...svgPaint("stroke", this.strokeStyle, this.globalAlpha), "stroke-width": this.lineWidth, "stroke-linejoin": this.lineJoin, ...dash };
  }
  stroke({ d } = this.#path) { if (d) this.#add("path", { d, ...this.#line() }); }
  fillRect(x, y, width, height) { this.#add("rect", { x: rounded(x), y: rounded(y), width: rounded(width), height: rounded(height), ...svgPaint("fill", this.fillStyle) }); }
  measureText(text) { this.#ruler.font = this.font; return this.#ruler.measureText(text); }
  #write(text, x, y, paint) {
    const [, weight = 400, size, family] = /^(?:(\d+) )?(\d+)px (.*)$/.exec(this.font);
    this.#add("text", {
      x: rounded(x), y: rounded(y), dy: this.textBaseline === "middle" ? "0.35em" : 0, "text-anchor": this.textAlign === "center" ? "middle" : "start",
      "font-family": family, "font-size": size, "font-weight": weight, ...paint,
    }, text);
  }
  fillText(text, x, y) { this.#write(text, x, y, svgPaint("fill", this.fillStyle, this.globalAlpha)); }
  strokeText(text, x, y) { this.#write(text, x, y, this.#line()); }
  drawImage(sheet) { if (sheet instanceof SvgSheet) this.#group.append(...sheet.root.childNodes); }
}

class SvgSheet {
  width = 0; height = 0;
  root = svgElement("svg", {});
  #pen = new SvgPen(this.root);
  getContext() { return this.#pen; }
  get text() {
    for (const [name, value] of Object.entries({ width: this.width, height: this.height, viewBox: `0 0 ${this.width} ${this.height}` })) this.root.setAttribute(name, value);
    return new XMLSerializer().serializeToString(this.root);
  }
}
