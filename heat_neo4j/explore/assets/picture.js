// The picture as a file, PNG or SVG, with its title and legends.

const KITS = {
  png: { ...SCREEN, density: 2 },
  svg: { newSheet: () => new SvgSheet(), Outline: SvgOutline, dust: 0, density: 1 },
};

// `drawn` are colours, the predicted links and what is marked, as of the screen; `names` as of labels.names.
function pictureOf(kind, scene, { colours, links, marked, names, title, facts }) {
  const kit = KITS[kind], [ground, graph, above, whole] = Array.from({ length: 4 }, kit.newSheet);
  const painter = makeCanvasPainter(graph, scene, kit), labels = makeLabels(ground, above, scene);
  painter.resize(kit.density);
  labels.resize(kit.density);
  painter.recolour(colours);
  const edges = scene.nearestEdges(Infinity);
  painter.edges(edges, 0, edges.length);
  painter.screen(links, marked);
  labels.ground(colours);
  labels.names(colours, names);
  const pen = fitted(whole, scene.width, scene.height, kit.density);
  pen.fillStyle = colours.css.paper;
  pen.fillRect(0, 0, scene.width, scene.height);
  for (const sheet of [ground, graph, above]) pen.drawImage(sheet, 0, 0, scene.width, scene.height);
  writeAround(pen, scene, colours, title, facts);
  return whole;
}

const LINE_HEIGHT = 19;

function writeAround(pen, { data, height, shown, typesShown }, { css, palette, edges }, title, facts) {
  const rgb = (colour) => `rgb(${colour.join(" ")})`;
  const write = (text, x, y, font, colour) => {
    pen.font = `${font} ${FONT}`;
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
    return x + pen.measureText(text).width;
  };
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  write(title, 20, 28, "650 19px", css.ink);
  write(facts, 20, 50, "12px", css.soft);
  let y = height - 20; // from below
  const entries = (list, on, mark) => {
    for (const [place, { name, count }] of [...list.entries()].filter(([at]) => on[at]).reverse()) {
      mark(place);
      write(spaced(count), write(name, 44, y, "13px", css.ink) + 8, y, "12px", css.soft);
      y -= LINE_HEIGHT;
    }
  };
  entries(data.typeLegend, typesShown, (place) => {
    pen.fillStyle = rgb(data.byType ? edges[1 + place] : edges[0]);
    pen.fillRect(20, y - 1.5, 18, 3);
  });
  if (data.typeLegend.length) y -= 8;
  if (data.scale) {
    data.scale.ticks.forEach((text, k) => write(text, 20 + 90 * k, y, "12px", css.soft));
    y -= LINE_HEIGHT - 4;
    const { shades } = data.scale, wide = 210 / shades;
    for (let k = 0; k < shades; k++) {
      pen.fillStyle = rgb(palette[k]);
      pen.fillRect(20 + k * wide, y - 4, wide + 0.5, 8);
    }
    y -= LINE_HEIGHT;
  }
  entries(data.legend.length > 1 ? data.legend : [], shown, (place) => {
    pen.fillStyle = rgb(palette[place]);
    pen.beginPath();
    pen.arc(29, y, 4.5, 0, 2 * Math.PI);
    pen.fill();
  });
  if (data.scale || data.legend.length > 1) write(facetTitle(data.facet), 20, y, "12px", css.soft);
}

async function savePicture(kind, name, sheet) {
  const blob = kind === "svg" ? new Blob([sheet.text], { type: "image/svg+xml" }) : await new Promise((take) => sheet.toBlob(take, "image/png"));
  const link = element("a", { href: URL.createObjectURL(blob), download: `${name}.${kind}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
