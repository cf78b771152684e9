// The page at work: its state, what can be done to it, and when it is drawn.

const MOST_ZOOM = 60;
const GLIDE_SECONDS = 0.65;
const STEP_LENGTH = 0.4; // of an arrow key, in hyperbolic distance
const STILL_SECONDS = 0.14; // without a move, after which all edges are drawn
const FEWEST_EDGES = 250, FEWEST_AT_REST = 4000; // in a frame
const SMOOTH = 0.021, ROUGH = 0.034; // seconds that a frame takes: more edges below, fewer above
const MOST_DASHED = 500;

async function start() {
  const about = JSON.parse(document.getElementById("about").textContent);
  const data = makeData(await inflated("part-nodes"));
  const scene = makeScene(data);
  // Without a graphics processor (or if told so) the plain canvas is by far quicker than an imitated processor.
  const address = () => new URLSearchParams(location.hash.slice(1));
  const webgl = address().has("webgl") || (!address().has("canvas") && hasGraphicsProcessor());
  const painter = (webgl && makeWebglPainter(byId("graph"), scene)) || makeCanvasPainter(byId("graph"), scene);
  const labels = makeLabels(byId("ground"), byId("labels"), scene);
  let selected = -1, hovered = -1, pointed = [0, 0];
  const on = { links: true, duplicates: true }; // what is drawn beside edges
  let details = null, near = new Set(); // of the selected node, as soon as they are known
  let colours = null, animation = null, arrived = false, firstPicture = null;
  let queued = false, dirty = true, repaint = true, movedAt = -1, lastFrame = -1;
  let budget = 2500, wasMove = false, chosen = [], drawn = 0, complete = false;
  const frames = { moving: [], all: 0 }; // seconds between frames while something moved, the last 600

  // ---- drawing

  function changed(move = true) {
    if (move) { dirty = true; movedAt = performance.now() / 1000; }
    repaint = true;
    if (!queued) { queued = true; requestAnimationFrame(draw); }
  }

  function draw(milliseconds) {
    queued = false;
    const now = milliseconds / 1000, since = lastFrame >= 0 ? now - lastFrame : 0;
    if (animation) animation(now);
    const moving = performance.now() / 1000 - movedAt < STILL_SECONDS;
    if (since && wasMove) {
      frames.moving.push(since);
      if (frames.moving.length > 600) frames.moving.shift();
      // Work that the machine does in good time may grow; what makes it late shrinks at once.
      if (since > ROUGH) budget = Math.max(FEWEST_EDGES, budget * Math.max(0.3, ROUGH / since));
      else if (since < SMOOTH) budget = Math.min(MOST_AT_REST, budget * 1.12);
    }
    wasMove = dirty;
    if (dirty) {
      scene.project();
      chosen = scene.nearestEdges(Math.floor(budget));
      painter.edges(chosen, 0, chosen.length);
      drawn = chosen.length;
      complete = false;
      labels.ground(colours);
      dirty = false;
      repaint = true;
    } else if (!moving && !complete) {
      if (drawn === chosen.length) chosen = scene.nearestEdges(MOST_AT_REST);
      const to = Math.min(chosen.length, drawn + Math.max(FEWEST_AT_REST, Math.floor(3 * budget)));
      painter.edges(chosen, drawn, to);
      drawn = to;
      complete = drawn >= chosen.length;
      repaint = true;
    }
    if (repaint) {
      painter.screen(moving ? [] : dashedLinks(), markedArcs());
      labels.names(colours, { selected, hovered, near, moving: moving && data.count > 5000 });
      repaint = false;
    }
    frames.all++;
    firstPicture ??= performance.now();
    const more = animation || !complete;
    lastFrame = more ? now : -1;
    if (more && !queued) { queued = true; requestAnimationFrame(draw); }
  }

  // Predicted links and duplicates, those nearest to the focus; they come back when the move is over, for dashes are slow to draw.
  function dashedLinks() {
    return [...on.links ? nearest(data.links, lineOf) : [], ...on.duplicates ? nearest(data.same, lineOfSame) : []];
  }
  function nearest(pairs, line) {
    const { gap } = scene, found = [];
    for (let e = 0; e < pairs.count; e++) {
      const a = pairs.source[e], b = pairs.target[e], close = gap[a] * gap[b];
      if (close > 0.01 && scene.pairShown(pairs, e)) found.push({ e, close: close * (pairs.probability ? pairs.probability[e] : 1) });
    }
    found.sort((one, other) => other.close - one.close);
    const kept = found.slice(0, MOST_DASHED), strength = Math.min(0.5, 5 / Math.sqrt(kept.length + 1));
    return kept.map(({ e, close }) => ({ ...line(pairs, e), alpha: strength * (0.3 + 0.7 * Math.sqrt(Math.min(close, 1))) }));
  }
  const lineOfSame = (pairs, e) => ({ a: pairs.source[e], b: pairs.target[e], narrows: 0, type: colours.links.length - 1 });
  function lineOf(pairs, e) {
    return { a: pairs.source[e], b: pairs.target[e], narrows: pairs.narrows[e], type: scene.typeOf(pairs, e) };
  }
  // What belongs to the selected node, or to that under the pointer.
  function markedArcs() {
    const i = hovered >= 0 ? hovered : selected;
    if (i < 0) return { edges: [], links: [], alpha: 1 };
    const arcs = (pairs, of, line = lineOf) => Array.from(of.places.subarray(of.start[i], of.start[i + 1]))
      .filter((e) => scene.pairShown(pairs, e)).map((e) => line(pairs, e));
    const edges = arcs(data.edges, data.edgesOf).slice(0, 2000);
    const links = i === selected && details ? details.links.filter(linkShown).map(lineOfEntry) : arcs(data.links, data.linksOf);
    const alpha = MARKED.alpha * Math.min(1, Math.sqrt(MARKED.most / Math.max(edges.length, 1)));
    const same = on.duplicates ? arcs(data.same, data.sameOf, lineOfSame) : [];
    return { edges, links: [...on.links ? links : [], ...same], alpha };
  }
  const placeOfEntry = ({ type }) => scene.placeOfType(data.typeNames.indexOf(type));
  function linkShown(entry) {
    return scene.size[entry.node] > 0 && scene.size[selected] > 0 && (!entry.type || scene.typesShown[placeOfEntry(entry)] > 0);
  }
  function lineOfEntry(entry) {
    const { node, way } = entry, [a, b] = way === "in" ? [node, selected] : [selected, node];
    return { a, b, narrows: Number(way === "in" || way === "out"), type: entry.type ? placeOfEntry(entry) : 0 };
  }

  function resize() {
    const density = Math.min(devicePixelRatio || 1, 2);
    scene.resize(innerWidth, innerHeight);
    painter.resize(density);
    labels.resize(density);
    changed();
  }
  function recolour() {
    const style = getComputedStyle(document.documentElement), value = (name) => style.getPropertyValue(`--${name}`).trim();
    const pen = document.createElement("canvas").getContext("2d");
    const rgb = (css) => {
      pen.fillStyle = css;
      return [1, 3, 5].map((at) => parseInt(pen.fillStyle.slice(at, at + 2), 16));
    };
    const css = Object.fromEntries(["ink", "soft", "hair", "disk", "accent", "paper"].map((name) => [name, value(name)]));
    const disk = rgb(css.disk), ink = rgb(css.ink), line = rgb(value("line")), palette = nodeColours(value, rgb);
    const types = data.typeLegend.map(({ other }, k) => (other || !data.byType ? line : rgb(value(`t${k}`))));
    const mixed = (colour) => `rgb(${colour.map((c, k) => Math.round(0.55 * c + 0.45 * ink[k])).join(" ")})`;
    colours = {
      css, palette, text: palette.map(mixed), disk,
      edges: [line, ...(data.byType ? types : palette)], marks: data.byType ? [...types, ink] : [ink, ink],
      links: [...data.byType && data.links.typed ? [...types, rgb(css.accent)] : [rgb(css.accent), rgb(css.accent)], ink], // the last of duplicates
    };
    painter.recolour(colours);
    panel.recolour(palette, types);
    changed();
  }
  // One for each group or shade, and grey for nodes without.
  function nodeColours(value, rgb) {
    if (!data.scale) return data.legend.length ? data.legend.map(({ other }, k) => rgb(value(other ? "rest" : `c${k}`))) : [rgb(value("c0"))];
    const { shades } = data.scale, [dark, bright] = [Number(value("dark")), Number(value("bright"))];
    return [...Array.from({ length: shades }, (_, k) => shade(k / (shades - 1), dark, bright)), rgb(value("rest"))];
  }

  // ---- what can be done

  function animate(seconds, advance) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) { animation = null; advance(1); changed(); return; }
    let from = -1;
    animation = (now) => {
      if (from < 0) from = now;
      const share = Math.min(1, (now - from) / seconds);
      advance(share < 0.5 ? 4 * share ** 3 : 1 - 4 * (1 - share) ** 3);
      if (share === 1) animation = null;
      changed();
    };
    changed();
  }
  // Along the geodesic from where node i is now to the middle of the disk, and that to the middle of the window.
  function glideTo(i) {
    const [hx, hy] = scene.onHyperboloid(i), across = Math.hypot(hx, hy), far = Math.asinh(across);
    const from = scene.view, shift = scene.shift;
    animate(GLIDE_SECONDS * Math.min(2, 0.7 + far / 8), (share) => {
      scene.view = across > 0 ? composed(step(-hx / across, -hy / across, far * share), from) : from;
      scene.shift = [shift[0] * (1 - share), shift[1] * (1 - share)];
    });
  }

  // Beyond the last node there is nothing, and in the end not even numbers: one can walk a little past it.
  function goTo(view) {
    if (farness(view) < scene.farthest + 3 || farness(view) < farness(scene.view)) scene.view = view;
  }

  function filter() {
    scene.filter();
    panel.pressed(scene);
    changed();
  }

  // The selected node ends the address of the page, so that a link leads to it, and the way back to the last one.
  function remember(i) {
    const parts = address(), now = nodeOf(data, parts);
    if (now === i) return;
    for (const name of ["node", "nth"]) parts.delete(name);
    if (i >= 0) addressOf(data, i).forEach((value, name) => parts.set(name, value));
    location.hash = parts;
  }
  function follow() {
    const wanted = address().get("node"), i = nodeOf(data, address());
    if (i !== selected) act.select(i);
    if (i < 0 && wanted !== null) panel.search(wanted);
  }

  const act = {
    select(i, glide = true) {
      selected = i;
      if (arrived) remember(i);
      details = null;
      near = new Set();
      panel.select(i);
      act.hover(-1);
      if (i >= 0) {
        if (glide) glideTo(i);
        act.lookUp();
      }
      changed(false);
    },
    lookUp() {
      details = detailsOf(data, selected);
      near = new Set(details.neighbours.map(({ node }) => node));
      panel.details(selected, details);
      changed(false);
    },
    hover(i) {
      if (hovered === i) return;
      hovered = i;
      byId("labels").classList.toggle("over", i >= 0);
      changed(false);
    },
    point(place) {
      if (place) pointed = place;
      const i = place ? scene.nodeAt(...place, 6) : -1;
      act.hover(i);
      panel.tooltip(i, pointed);
    },
    click(place, reach) {
      const i = scene.nodeAt(...place, reach);
      panel.tooltip(-1, place);
      if (i >= 0) act.select(i);
    },
    walk(view) {
      animation = null;
      goTo(view);
      panel.tooltip(-1, pointed);
      act.hover(-1);
      changed();
    },
    rest() { changed(false); },
    step([x, y]) {
      let done = 0;
      animate(0.16, (share) => {
        goTo(composed(step(x, y, STEP_LENGTH * (share - done)), scene.view));
        done = share;
      });
    },
    zoom(factor, [x, y]) {
      const before = scene.zoom, [cx, cy] = scene.centre();
      scene.zoom = Math.max(0.5, Math.min(MOST_ZOOM, before * factor));
      const ratio = scene.zoom / before; // what is under the pointer stays there
      scene.shift = [scene.shift[0] + (x - cx) * (1 - ratio), scene.shift[1] + (y - cy) * (1 - ratio)];
      panel.tooltip(-1, pointed);
      changed();
    },
    // Of `shown` or `typesShown`.
    toggle(list, place) { scene[list][place] ^= 1; filter(); },
    only(list, place) {
      const others = scene[list].some((on, k) => on && k !== place);
      scene[list].forEach((_, k) => { scene[list][k] = k === place || !others ? 1 : 0; });
      filter();
    },
    // Shades from one to another.
    range(from, to) {
      for (let k = 0; k < data.scale.shades; k++) scene.shown[k] = Number(k >= from && k <= to);
      filter();
    },
    showAll() {
      for (const { shown } of data.facets) shown.fill(1);
      scene.typesShown.fill(1);
      panel.legends();
      filter();
    },
    colourBy(place) {
      colourBy(data, place);
      panel.legends();
      recolour();
      filter();
      if (selected >= 0 && details) panel.details(selected, details);
    },
    atMost(edges) { scene.most = edges; changed(); },
    save(kind) {
      const sheet = pictureOf(kind, scene, {
        colours, links: dashedLinks(), marked: markedArcs(), names: { selected, hovered: -1, near, moving: false },
        title: about.title, facts: byId("facts").textContent,
      });
      changed(); // what the scene knows of edges is the picture's
      return savePicture(kind, about.title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60) || "picture", sheet);
    },
    selectMiddle() { act.select(scene.nodeNearestCentre()); },
    escape() {
      const open = ["keys", "runs"].find((id) => !byId(id).hidden);
      if (open) act.show(open);
      else act.select(-1);
      byId("labels").focus({ preventScroll: true });
    },
    // Opens the help or the history of runs, or closes it.
    show(id) {
      for (const each of ["keys", "runs"]) {
        byId(each).hidden = each !== id || !byId(each).hidden;
        document.querySelector(`[aria-controls=${each}]`).setAttribute("aria-expanded", String(!byId(each).hidden));
      }
      if (!byId(id).hidden) byId(id).focus();
    },
    reset() {
      act.showAll();
      const { view, zoom, shift } = scene, [hx, hy] = [view[0] * view[2] - view[1] * view[3], view[0] * view[3] + view[1] * view[2]];
      const across = 2 * Math.hypot(hx, hy), far = Math.asinh(across), turn = Math.atan2(view[1], view[0]);
      animate(GLIDE_SECONDS, (share) => {
        const back = across > 0 ? composed(step(-2 * hx / across, -2 * hy / across, far * share), view) : view;
        scene.view = composed([Math.cos(turn * share), -Math.sin(turn * share), 0, 0], back);
        if (share === 1) scene.view = IDENTITY;
        scene.zoom = zoom ** (1 - share);
        scene.shift = [shift[0] * (1 - share), shift[1] * (1 - share)];
      });
    },
  };

  const panel = makePanel(data, about, act);
  panel.heading();
  panel.legends();
  const interaction = makeInteraction(byId("labels"), scene, act);
  byId("close").addEventListener("click", act.escape);
  byId("reset").addEventListener("click", () => { act.select(-1); act.reset(); });
  byId("closer").addEventListener("click", () => act.zoom(1.25, [scene.width / 2, scene.height / 2]));
  byId("farther").addEventListener("click", () => act.zoom(0.8, [scene.width / 2, scene.height / 2]));
  byId("help").addEventListener("click", () => act.show("keys"));
  byId("history").addEventListener("click", () => act.show("runs"));
  for (const id of ["links", "duplicates"]) {
    byId(id).addEventListener("click", () => {
      on[id] = !on[id];
      byId(id).setAttribute("aria-pressed", String(on[id]));
      changed(false);
    });
  }
  for (const kind of ["png", "svg"]) byId(kind).addEventListener("click", () => act.save(kind));
  addEventListener("hashchange", () => { if (arrived) follow(); });
  addEventListener("resize", resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  scene.resize(innerWidth, innerHeight);
  resize();
  recolour();

  // For tests and for whoever wants to look inside: reads, and the acts that a person has.
  window.heat = Object.freeze({
    state: () => ({
      selected, hovered, view: [...scene.view], zoom: scene.zoom, shift: [...scene.shift], radius: scene.radius,
      shown: [...scene.shown], typesShown: [...scene.typesShown].slice(0, -1), labels: [...labels.shown],
      still: arrived && !animation && !interaction.busy && complete && !queued && (selected < 0 || details !== null),
      firstPicture,
      painter: painter.kind, edgesDrawn: drawn, edgeBudget: Math.floor(budget),
    }),
    project: (i) => ({ x: scene.x[i], y: scene.y[i], size: scene.size[i], disk: [scene.disk[2 * i], scene.disk[2 * i + 1]] }),
    frames: () => ({ moving: [...frames.moving], all: frames.all }),
    distance: (i, j) => distance(data.points[2 * i], data.points[2 * i + 1], data.points[2 * j], data.points[2 * j + 1]),
    select: act.select,
    reset: act.reset,
    geometry: Object.freeze({ normalised, composed, inverse, moved, translation, step, circle, geodesic, distance }),
  });

  await new Promise((done) => requestAnimationFrame(() => setTimeout(done))); // the first picture, before the rest is read
  for (const [name, take] of Object.entries(TAKE)) {
    take(data, await inflated(`part-${name}`));
    if (name === "edges") scene.edgesChanged();
    panel.arrived(name);
    recolour();
  }
  arrived = true;
  if (selected >= 0) { act.lookUp(); remember(selected); } else follow();
}

start().catch((error) => {
  document.getElementById("facts").textContent = `This page cannot be shown: ${error.message}`;
});
