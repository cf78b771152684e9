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

function facetTitle({ name, scale }) {
  return scale?.by_rank ? `${name}, by rank` : name;
}

function makePanel(data, about, act) {
  const panel = {};
  let css = [], typesCss = [], switches = [];

  function dot(group) {
    const made = element("span", { className: "dot" });
    made.dataset.group = group;
    made.style.background = css[group];
    return made;
  }
  function streak(type) {
    const made = element("span", { className: "streak" });
    made.dataset.type = type;
    made.style.background = typesCss[type];
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
    byId("heading").querySelector("h1").textContent = about.title;
    const links = data.linksTotal ? `, ${plural(data.linksTotal, "predicted link")}` : "";
    byId("facts").textContent = `${plural(data.count, "node")}, ${plural(data.relationships, "relationship")}${links}`;
    byId("note").textContent = about.note;
    byId("links").hidden = !data.linksTotal;
    byId("duplicates").hidden = !data.same.count;
  };
  panel.arrived = (name) => {
    if (name === "links" || name === "same") panel.heading();
    else if (name === "facets") showFacets();
    else if (name === "edges") showMost();
    else if (name === "runs") showRuns();
  };
  panel.say = (text) => { byId("spoken").textContent = text; };

  panel.legends = () => {
    switches = [];
    fillLegend("legend", "shown", data.legend.length > 1 ? data.legend : [], dot);
    fillLegend("types", "typesShown", data.typeLegend, streak);
    byId("scale").hidden = !data.scale;
    if (data.scale) showScale(data.facet);
  };
  function showFacets() {
    byId("facets").hidden = data.facets.length < 2;
    const choice = byId("facets").querySelector("select");
    choice.replaceChildren(...data.facets.map(({ name }, k) => element("option", { value: k, textContent: name || "one colour" })));
    choice.value = data.facets.indexOf(data.facet);
    choice.addEventListener("change", () => act.colourBy(Number(choice.value)));
  }
  // How many edges are drawn at once: in tenfold steps of ten, the last for all.
  function showMost() {
    const { count } = data.edges, slider = byId("most").querySelector("input"), said = byId("most").querySelector("output");
    const first = Math.log10(Math.max(Math.min(count, FEWEST_CHOSEN), 1)), last = Math.log10(Math.max(count, 1));
    byId("most").hidden = count <= FEWEST_CHOSEN;
    const at = () => Math.round(10 ** (first + (last - first) * slider.value / slider.max));
    const say = () => { said.textContent = at() < count ? `the nearest ${spaced(at())}` : "all"; };
    slider.value = last > first ? slider.max * (Math.log10(Math.min(count, MOST_AT_REST)) - first) / (last - first) : slider.max;
    slider.addEventListener("input", () => { say(); act.atMost(at()); });
    say();
  }
  function fillLegend(id, list, entries, mark) {
    byId(id).hidden = !entries.length;
    byId(id).querySelector("div").replaceChildren(
      ...entries.map(({ name, count }, place) => makeSwitch(list, place, mark(place), name, count)),
    );
  }
  function makeSwitch(list, place, mark, name, count) {
    const button = element("button", { type: "button", title: `${name}\nClick to hide or show; double-click for this one only` },
      mark, element("span", { textContent: name }), element("small", { textContent: spaced(count) }));
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => act.toggle(list, place));
    button.addEventListener("dblclick", () => act.only(list, place));
    switches.push({ button, list, place });
    return button;
  }
  panel.pressed = (scene) => {
    for (const { button, list, place } of switches) button.setAttribute("aria-pressed", String(Boolean(scene[list][place])));
    const hidden = scene.hidden.reduce((sum, each) => sum + each, 0);
    byId("filtered").hidden = !hidden;
    byId("filtered").querySelector("span").textContent = `${plural(hidden, "node")} hidden`;
  };
  function showScale(facet) {
    const { ticks, lowest, highest, shades, missing } = facet.scale, title = facetTitle(facet), box = byId("scale");
    box.querySelector("p").textContent = title;
    byId("bar").setAttribute("aria-label", `Colours of ${title}: from ${ticks[0]} over ${ticks[1]} to ${ticks[2]}`);
    byId("ticks").replaceChildren(...ticks.map((text) => element("span", { textContent: text })));
    const [from, to] = box.querySelectorAll("input"), first = facet.shown.indexOf(1), last = facet.shown.lastIndexOf(1, shades - 1);
    const say = () => { byId("range").textContent = from.value > 0 || to.value < shades - 1 ? `${lowest[from.value]} to ${highest[to.value]}` : ""; };
    for (const [slider, value] of [[from, Math.max(first, 0)], [to, Math.min(last < 0 ? shades : last, shades - 1)]]) {
      slider.max = shades - 1;
      slider.value = value;
      slider.oninput = () => {
        if (Number(from.value) > Number(to.value)) (slider === from ? to : from).value = slider.value;
        say();
        act.range(Number(from.value), Number(to.value));
      };
    }
    say();
    box.querySelector(".entries").replaceChildren(...(missing ? [makeSwitch("shown", shades, dot(shades), "no value", missing)] : []));
  }
  function showRuns() {
    byId("history").hidden = !data.runs.length;
    const number = (value) => (value === null ? "" : spaced(value));
    byId("runs").querySelector("tbody").replaceChildren(...data.runs.map((run) => element("tr", { className: run.status },
      element("th", { scope: "row", textContent: run.started || run.run, title: run.run }),
      ...[run.status, run.parts, run.decision, spaced(run.nodes), spaced(run.links), number(run.auroc), number(run.moved)]
        .map((text) => element("td", { textContent: text })))));
  }

  const nameOf = (i) => data.names[i] ?? `node ${i}`;

  // A line that leads to another node, with what is to be said about it on the right.
  function line({ node: i, type, way }, remark) {
    const arrow = { "": "", out: `-[${type}]->`, in: `<-[${type}]-`, both: `<-[${type}]->` }[way ?? ""]; // as Cypher writes it
    const name = element("span", {}, ...(arrow ? [element("code", { textContent: arrow }), " "] : []),
      element("bdi", { textContent: nameOf(i) }));
    const button = element("button", { type: "button" }, dot(data.group[i]), name, element("small", { textContent: remark }));
    button.addEventListener("click", () => act.select(i));
    button.addEventListener("pointerenter", () => act.hover(i));
    button.addEventListener("pointerleave", () => act.hover(-1));
    button.dataset.node = i;
    return element("li", {}, button);
  }

  function list(id, lines, remark = "") {
    const section = byId(id);
    section.hidden = !lines.length;
    section.querySelector("h3").replaceChildren(section.dataset.title ??= section.querySelector("h3").textContent,
      element("small", { textContent: remark }));
    section.querySelector("ol").replaceChildren(...lines);
  }

  panel.select = (i) => {
    const box = byId("panel"), title = box.querySelector("h2"), inside = box.contains(document.activeElement);
    box.hidden = i < 0;
    if (i < 0) return;
    box.scrollTop = 0;
    title.textContent = nameOf(i);
    showFacts(i, []);
    for (const id of ["alike", "nearest", "predicted", "linked"]) list(id, []);
    if (inside) title.focus(); // the button that led here is gone
    panel.say(`Selected ${nameOf(i)}`);
  };
  function showFacts(i, properties) {
    const group = data.legend.length > 1 ? data.legend[data.group[i]] : { other: true };
    const said = properties.some(([, value]) => value === group.name);
    const facts = [
      ...properties,
      ...(group.other || said ? [] : [["group", group.name]]),
      ["neighbours", spaced(data.degree[i])],
      ["radius", (data.space ? data.space.radius[i] / 1000 : data.radius[i]).toFixed(3)],
    ];
    byId("values").replaceChildren(...facts.filter(([, text]) => text !== "").flatMap(([name, text]) => [
      element("dt", { textContent: name }), element("dd", { textContent: text }),
    ]));
  }
  panel.details = (i, { properties, neighbours, links, same, relationships, relationshipCount }) => {
    showFacts(i, properties);
    const apart = ({ distance }) => distance.toFixed(3);
    const distance = data.space ? `distance in ${data.space.dimensions} dimensions` : "distance";
    const likely = (id, entries) => {
      const chances = entries.every(({ probability }) => probability !== null);
      list(id, entries.map((entry) => line(entry, chances ? percent(entry.probability) : apart(entry))), chances ? "probability" : distance);
    };
    likely("alike", same);
    list("nearest", neighbours.map((entry) => line(entry, apart(entry))), distance);
    likely("predicted", links);
    list("linked", relationships.map((entry) => line(entry, "")),
      relationshipCount > relationships.length ? `${relationships.length} of ${spaced(relationshipCount)}` : "");
    const near = neighbours.slice(0, 3).map(({ node }) => nameOf(node)).join(", ");
    panel.say(`Selected ${nameOf(i)}, ${plural(data.degree[i], "neighbour")}${near && `; nearest ${near}`}`);
  };

  panel.tooltip = (i, [x, y]) => {
    const tip = byId("tooltip");
    tip.hidden = i < 0;
    if (i < 0) return;
    const lines = data.properties.map(([name, values]) => [name, values[i]]).filter(([, text]) => text !== "");
    tip.replaceChildren(element("b", { textContent: nameOf(i) }),
      ...lines.map(([name, text]) => element("div", { textContent: `${name}: ${text}` })),
      element("div", { textContent: plural(data.degree[i], "neighbour") }));
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, x + 16 + width > innerWidth ? x - width - 12 : x + 16)}px`;
    tip.style.top = `${Math.max(4, y + 18 + height > innerHeight ? y - height - 10 : y + 18)}px`;
  };

  panel.search = makeSearch(data, act, dot);
  byId("filtered").querySelector("button").addEventListener("click", () => act.showAll());
  return panel;
}

const MOST_MATCHES = 12;
const FEWEST_CHOSEN = 200; // edges

// Letters in lower case and without accents, one for each of the text, so that places stay.
function plain(text) {
  return text.replace(/[^]/g, (one) => {
    const bare = one.normalize("NFD").replace(/\p{M}/gu, "");
    return (bare.length === 1 ? bare : one).toLowerCase()[0]; // a syllable of Hangul has several parts
  });
}

// Names that hold the text: those that begin with it first, then where a word does, then shorter ones.
function matches(lower, text) {
  const wanted = plain(text.trim());
  if (!wanted) return [];
  const found = [];
  lower.forEach((name, i) => {
    const at = name.indexOf(wanted);
    if (at >= 0) found.push([at === 0 ? 0 : /[\p{L}\p{N}]/u.test(name[at - 1]) ? 2 : 1, name.length, i]);
  });
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]).slice(0, MOST_MATCHES).map(([, , i]) => i);
}

function makeSearch(data, act, dot) {
  const input = byId("search"), box = byId("matches");
  let found = [], at = 0, lower = [];

  function marked(name) {
    const wanted = plain(input.value.trim()), start = plain(name).indexOf(wanted);
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
  input.addEventListener("input", () => {
    if (lower.length !== data.names.length) lower = data.names.map(plain);
    found = matches(lower, input.value);
    at = 0;
    show();
  });
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
  return (text) => {
    input.value = text;
    input.focus();
    input.dispatchEvent(new Event("input"));
  };
}
