// Everything on the page that is text: heading, legend, search, tooltip, the selected node. Names and properties come
// from a database and may hold anything: they only ever become text nodes.

function element(tag, settings = {}, ...children) {
  const made = Object.assign(document.createElement(tag), settings);
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);
const spaced = (number) => number.toLocaleString("en");

function plural(number, noun) {
  return `${spaced(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function percent(probability) {
  if (probability > 0.999) return ">99.9%";
  return probability < 0.001 ? "<0.1%" : `${(100 * probability).toFixed(1)}%`;
}

function makePanel(data, act) {
  const panel = {}, switches = [];
  let css = [], typesCss = [];

  function dot(group) {
    const made = element("span", { className: "dot" });
    made.dataset.group = group;
    made.style.background = css[group];
    return made;
  }
  function streak(type) {
    const made = element("span", { className: "streak" });
    made.dataset.type = type;
    return made;
  }
  panel.recolour = (palette, types) => {
    const text = (colour) => `rgb(${colour.join(" ")})`;
    css = palette.map(text);
    typesCss = types.map(text);
    for (const made of document.querySelectorAll(".dot")) made.style.background = css[made.dataset.group];
    for (const made of document.querySelectorAll(".streak")) made.style.background = typesCss[made.dataset.type];
    if (data.scale) byId("bar").style.background = `linear-gradient(to right, ${css.slice(0, -1).join(", ")})`;
  };

  panel.heading = () => {
    byId("heading").querySelector("h1").textContent = data.title;
    const links = data.links.count ? `, ${plural(data.links.count, "predicted link")}` : "";
    byId("facts").textContent = `${plural(data.count, "node")}, ${plural(data.relationships, "relationship")}${links}`;
    byId("note").textContent = data.note;
    byId("links").hidden = !data.links.count;
  };

  panel.legends = () => {
    if (data.legend.length > 1) fillLegend("legend", "shown", data.legend, dot);
    if (data.typeLegend.length) fillLegend("types", "typesShown", data.typeLegend, streak);
    if (data.scale) showScale(data.scale);
  };
  function fillLegend(id, list, entries, mark) {
    byId(id).hidden = false;
    byId(id).append(...entries.map(({ name, count }, place) => makeSwitch(list, place, mark(place), name, count)));
  }
  function makeSwitch(list, place, mark, name, count) {
    const button = element("button", { type: "button", title: "Click to hide or show; double-click for this one only" },
      mark, element("span", { textContent: name }), element("small", { textContent: spaced(count) }));
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => act.toggle(list, place));
    button.addEventListener("dblclick", () => act.only(list, place));
    switches.push({ button, list, place });
    return button;
  }
  panel.pressed = (scene) => {
    for (const { button, list, place } of switches) button.setAttribute("aria-pressed", String(Boolean(scene[list][place])));
  };
  function showScale({ name, ticks, by_rank: byRank, shades, missing }) {
    const title = byRank ? `${name}, by rank` : name, box = byId("scale");
    box.hidden = false;
    box.querySelector("p").textContent = title;
    byId("bar").setAttribute("aria-label", `Colours of ${title}: from ${ticks[0]} over ${ticks[1]} to ${ticks[2]}`);
    byId("ticks").append(...ticks.map((text) => element("span", { textContent: text })));
    if (missing) box.append(makeSwitch("shown", shades, dot(shades), "no value", missing));
  }

  // A line that leads to another node, with what is to be said about it on the right.
  function line(i, remark, arrow = "") {
    const name = element("span", {}, ...(arrow ? [element("code", { textContent: arrow }), " "] : []),
      element("bdi", { textContent: data.names[i] }));
    const button = element("button", { type: "button" }, dot(data.group[i]), name, element("small", { textContent: remark }));
    button.addEventListener("click", () => act.select(i));
    button.addEventListener("pointerenter", () => act.hover(i));
    button.addEventListener("pointerleave", () => act.hover(-1));
    button.dataset.node = i;
    return element("li", {}, button);
  }

  // Type and direction of pair e, seen from node i, as Cypher writes them.
  function arrowOf(pairs, e, i) {
    if (!pairs.typed) return "";
    const type = `[${data.typeNames[pairs.type[e]]}]`;
    if (!pairs.narrows[e]) return `<-${type}->`;
    return pairs.source[e] === i ? `-${type}->` : `<-${type}-`;
  }

  function list(id, lines, remark = "") {
    const section = byId(id);
    section.hidden = !lines.length;
    section.querySelector("h3").replaceChildren(section.dataset.title ??= section.querySelector("h3").textContent,
      element("small", { textContent: remark }));
    section.querySelector("ol").replaceChildren(...lines);
  }

  panel.select = (i, linksOf, edgesOf) => {
    byId("panel").hidden = i < 0;
    if (i < 0) return;
    byId("panel").scrollTop = 0;
    byId("panel").querySelector("h2").textContent = data.names[i];
    const group = data.legend.length > 1 ? data.legend[data.group[i]] : { other: true };
    const said = data.properties.some(([, values]) => values[i] === group.name);
    const facts = [
      ...data.properties.map(([name, values]) => [name, values[i]]),
      ...(group.other || said ? [] : [["group", group.name]]),
      ["neighbours", spaced(data.degree[i])],
      ["radius", data.radius[i].toFixed(3)],
    ];
    byId("values").replaceChildren(...facts.filter(([, text]) => text !== "").flatMap(([name, text]) => [
      element("dt", { textContent: name }), element("dd", { textContent: text }),
    ]));
    const near = data.neighbours ? Array.from({ length: data.neighbours.width }, (_, k) => i * data.neighbours.width + k) : [];
    list("nearest", near.map((k) => line(data.neighbours.partner[k], data.neighbours.distance[k].toFixed(3))), "distance");
    const chance = data.links.probability;
    list("predicted", linksOf.map(([other, e]) => line(
      other, chance ? percent(chance[e]) : data.links.distance[e].toFixed(3), arrowOf(data.links, e, i),
    )), chance ? "probability" : "distance");
    list("linked", edgesOf.slice(0, 30).map(([other, e]) => line(other, "", arrowOf(data.edges, e, i))),
      edgesOf.length > 30 ? `30 of ${spaced(edgesOf.length)}` : "");
    byId("spoken").textContent = `Selected ${data.names[i]}`;
  };

  panel.tooltip = (i, [x, y]) => {
    const tip = byId("tooltip");
    tip.hidden = i < 0;
    if (i < 0) return;
    const lines = data.properties.map(([name, values]) => [name, values[i]]).filter(([, text]) => text !== "");
    tip.replaceChildren(element("b", { textContent: data.names[i] }),
      ...lines.map(([name, text]) => element("div", { textContent: `${name}: ${text}` })),
      element("div", { textContent: plural(data.degree[i], "neighbour") }));
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, x + 16 + width > innerWidth ? x - width - 12 : x + 16)}px`;
    tip.style.top = `${Math.max(4, y + 18 + height > innerHeight ? y - height - 10 : y + 18)}px`;
  };

  makeSearch(data, act, dot);
  return panel;
}

const MOST_MATCHES = 12;

// Names that hold the text: those that begin with it first, then where a word does, then shorter ones.
function matches(lower, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = [];
  lower.forEach((name, i) => {
    const at = name.indexOf(wanted);
    if (at >= 0) found.push([at === 0 ? 0 : /[\p{L}\p{N}]/u.test(name[at - 1]) ? 2 : 1, name.length, i]);
  });
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]).slice(0, MOST_MATCHES).map(([, , i]) => i);
}

function makeSearch(data, act, dot) {
  const input = byId("search"), box = byId("matches"), lower = data.names.map((name) => name.toLowerCase());
  let found = [], at = 0;

  function marked(name) {
    const wanted = input.value.trim(), start = name.toLowerCase().indexOf(wanted.toLowerCase());
    if (start < 0) return [name];
    const end = start + wanted.length;
    return [name.slice(0, start), element("mark", { textContent: name.slice(start, end) }), name.slice(end)];
  }
  function show() {
    const open = input.value.trim() !== "" && document.activeElement === input;
    box.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    input.removeAttribute("aria-activedescendant");
    if (!open) return;
    box.replaceChildren(...found.map((i, k) => {
      const item = element("li", { id: `match-${k}` }, dot(data.group[i]), element("span", {}, ...marked(data.names[i])));
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(k === at));
      item.dataset.node = i;
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); choose(k); });
      return item;
    }));
    if (found.length) input.setAttribute("aria-activedescendant", `match-${at}`);
    else box.append(element("li", { className: "none", textContent: "no node has a name like that" }));
  }
  function choose(k) {
    if (k >= found.length) return;
    act.select(found[k]);
    input.value = "";
    input.blur();
    byId("labels").focus({ preventScroll: true });
  }
  input.addEventListener("input", () => { found = matches(lower, input.value); at = 0; show(); });
  input.addEventListener("focus", show);
  input.addEventListener("blur", show);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") choose(at);
    else if (event.key === "Escape") { input.value = ""; input.blur(); byId("labels").focus({ preventScroll: true }); }
    else if (event.key === "ArrowDown") at = Math.min(at + 1, found.length - 1);
    else if (event.key === "ArrowUp") at = Math.max(at - 1, 0);
    else return;
    event.preventDefault();
    event.stopPropagation();
    show();
  });
}
