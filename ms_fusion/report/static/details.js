// The panel: shows all data of the selected kernel, operator or edge.
const heading = (text, aside) => el("h3", null, text, aside ? el("span", { class: "tally" }, aside) : null);

function facts(rows) {
  const shown = rows.filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return shown.length ? el("dl", { class: "facts" }, shown.map(([name, value]) => [el("dt", null, name), el("dd", null, value)])) : null;
}

const link = (kind, number, ...content) =>
  el("button", { type: "button", class: "link", onclick: () => select(kind, number) }, content);

function sourceList(numbers) {
  const known = (numbers || []).filter((number) => number >= 0);
  if (!known.length) return null;
  return [
    heading("Source"),
    el("ol", { class: "sources" }, known.map((number) =>
      el("li", null, el("span", { class: "where" }, sourceText(number)),
        data.sources[number][2] ? el("pre", null, el("code", null, data.sources[number][2])) : null))),
  ];
}

function tensors(title, list) {
  if (!list || !list.length) return null;
  return [
    heading(title, list.length),
    el("table", { class: "small tensors" }, el("tbody", null, list.map(([name, value, kind]) =>
      el("tr", null, el("td", { class: "name" }, name), el("td", null, value), el("td", { class: "muted" }, kind))))),
  ];
}

function operatorRow(number) {
  const node = data.nodes[number];
  return el("li", null, link("node", number, el("strong", null, node.op)), el("span", { class: "where" }, node.name));
}

function workTable(kernel) {
  if (!kernel.work && !kernel.workBefore) return null;
  const names = ["bytes read", "bytes written", "FLOPs", "arithmetic intensity", "launches"];
  return [
    heading("Work"),
    el("table", { class: "small" },
      el("thead", null, el("tr", null, el("th", { scope: "col" }, "per call"), el("th", { scope: "col", class: "number" }, "before"), el("th", { scope: "col", class: "number" }, "after"))),
      el("tbody", null, names.map((name, place) =>
        el("tr", null, el("th", { scope: "row" }, name), el("td", { class: "number" }, (kernel.workBefore || [])[place] || "–"), el("td", { class: "number" }, (kernel.work || [])[place] || "–"))))),
    kernel.work ? el("p", { class: "muted" }, kernel.bound === "compute" ? "The compute roof bounds it." : kernel.bound === "memory" ? "The memory roof bounds it." : `Bound: ${kernel.bound}.`) : null,
  ];
}

function accuracyTable(rows) {
  if (!rows.length) return null;
  const cell = (relative, ulp, absolute) => el("td", { class: "number" }, twoLines(relative, `${ulp} ULP, ${absolute} absolute`));
  return [
    heading("Accuracy against float64"),
    el("table", { class: "small" },
      el("thead", null, el("tr", null, ["fed with", "relative error unfused", "fused", "verdict"].map((name, place) => el("th", { scope: "col", class: place ? "number" : null }, name)))),
      el("tbody", null, rows.flatMap(([inputs, apart, fused, verdict, apartUlp, fusedUlp, apartAbs, fusedAbs, note]) => [
        el("tr", null, el("th", { scope: "row" }, inputs), cell(apart, apartUlp, apartAbs), cell(fused, fusedUlp, fusedAbs), el("td", { class: "number" }, verdict || "–")),
        note ? el("tr", { class: "remark" }, el("td", { colspan: 4 }, note)) : null,
      ].filter(Boolean)))),
    el("p", { class: "muted" }, "Relative to the largest value of the output."),
  ];
}

function kernelDetails(number) {
  const kernel = data.kernels[number];
  const held = kernel.nodes || [];
  const bars = stageBars(kernel);
  const alike = data.alike.find((group) => group.includes(number)) || [number];
  return [
    el("p", { class: "eyebrow" }, "Fused kernel"),
    el("h2", null, kernel.ops),
    el("p", { class: "where" }, kernel.name),
    kernel.saved !== null || kernel.measured !== null
      ? el("dl", { class: "key" },
          [["bytes saved", kernel.savedText], ["time saved", kernel.spreadText ? `${kernel.measuredText} ${kernel.spreadText}` : kernel.measuredText], ["predicted", kernel.predictedText],
           ["ran", kernel.runs === null ? "–" : `${kernel.runs.toLocaleString("en")}×`]].map(([name, value]) =>
            el("div", null, el("dt", null, name), el("dd", null, value))))
      : null,
    bars ? [heading("Stages"), bars, stageTable(kernel)] : null,
    heading("Operators", held.length + kernel.elsewhere.length),
    el("ol", { class: "operators", id: "operators" }, held.map(operatorRow),
      kernel.elsewhere.map(([op, name]) => el("li", null, el("strong", null, op), el("span", { class: "where" }, name)))),
    sourceList(kernel.src),
    tensors("Reads", kernel.in),
    tensors("Writes", kernel.out),
    workTable(kernel),
    accuracyTable(kernel.accuracy),
    alike.length > 1 ? [heading("Kernels like this", alike.length), el("ol", { class: "operators" }, alike.map((one) => el("li", null, link("kernel", one, data.kernels[one].full))))] : null,
    heading("Kernel"),
    facts([
      ["time", kernel.time === null && kernel.timeBefore === null ? "" : `${kernel.timeText}, before ${kernel.timeBeforeText}`],
      ["body", `${countText(kernel.count, "operator")}: ${kernel.body}`],
      ["receipt", kernel.runs === null ? "it was not run" : `it ran ${countText(kernel.runs, "time")}`],
      ["generator", kernel.build || kernel.generator],
      ["sub-graph", kernel.subgraph],
      ["full name", kernel.full],
    ]),
  ];
}

const endOf = (number, name) => (number >= 0 ? link("node", number, data.nodes[number].name) : name || "outside the sub-graph");

function unfusedDetails(number) {
  const edge = data.unfused[number];
  const advice = edge.s === undefined ? null : data.suggestions[edge.s];
  return [
    el("p", { class: "eyebrow" }, "Edge not fused"),
    el("h2", null, edge.ops),
    el("dl", { class: "key" }, el("div", null, el("dt", null, "bytes at stake"), el("dd", null, edge.stakeText)), el("div", null, el("dt", null, "reason"), el("dd", null, edge.reason))),
    el("p", { id: "reason" }, data.texts[edge.detail]),
    heading("Smallest change that would fuse it"),
    advice
      ? [el("p", null, advice.text), advice.flags ? el("pre", { class: "flags" }, el("code", null, advice.flags)) : null]
      : el("p", { class: "muted" }, "None is known to work."),
    heading("Edge"),
    facts([["value", edge.value], ["from", endOf(edge.a, edge.from)], ["to", endOf(edge.b, edge.to)]]),
    sourceList([...new Set(edge.src)]),
  ];
}

function edgeDetails(number) {
  const edge = data.edges[number];
  if (edge.u && !edge.in) return edge.u.flatMap(unfusedDetails);
  const a = data.nodes[edge.a], b = data.nodes[edge.b];
  const shared = (a.k || []).filter((kernel) => (b.k || []).includes(kernel));
  return [
    el("p", { class: "eyebrow" }, "Edge"),
    el("h2", null, `${a.op} → ${b.op}`),
    shared.length
      ? el("p", null, "It stays inside the fused kernel ", link("kernel", shared[0], data.kernels[shared[0]].ops), " and is never written to memory unless something else reads it.")
      : el("p", null, "It goes through memory."),
    facts([["value", edge.v.join("; ")], ["from", endOf(edge.a)], ["to", endOf(edge.b)]]),
  ];
}

function nodeDetails(number) {
  const node = data.nodes[number];
  const touching = data.unfused.flatMap((edge, place) => (edge.a === number || edge.b === number ? [place] : []));
  return [
    el("p", { class: "eyebrow" }, node.family === "input" ? "Input of the graph" : "Operator"),
    el("h2", null, node.family === "input" ? node.name : node.op),
    node.family === "input" ? null : el("p", { class: "where" }, node.name),
    (node.k || []).length
      ? [heading("Fused into", node.k.length > 1 ? node.k.length : null),
         el("ul", { class: "operators" }, node.k.map((kernel) => el("li", null, link("kernel", kernel, el("strong", null, data.kernels[kernel].ops)), el("span", { class: "where" }, data.kernels[kernel].name))))]
      : node.single
        ? el("p", null, "A generator built a kernel for it, but of this one operator only: no fusion.")
        : node.family === "input" ? null : el("p", { class: "muted" }, "Not part of a fused kernel."),
    touching.length
      ? [heading("Edges not fused", touching.length),
         el("ul", { class: "operators" }, touching.slice(0, 30).map((place) => el("li", null, link("unfused", place, el("strong", null, data.unfused[place].ops)), el("span", { class: "where" }, `${data.unfused[place].reason}, ${data.unfused[place].stakeText} at stake`))))]
      : null,
    sourceList(node.src),
    tensors("Reads", node.in),
    tensors("Writes", node.out),
    node.from || (node.attrs || []).length
      ? [heading("Attributes"), facts([["expanded from", node.from || ""], ...(node.attrs || [])])]
      : null,
  ];
}

function nothingDetails() {
  return [
    el("p", { class: "eyebrow" }, "Details"),
    el("p", null, "Select a kernel, an operator or an edge, in the graph or in a table."),
    el("dl", { class: "facts keys" },
      [["/", "search"], ["Enter", "next match; in the graph, select"], ["Arrows", "walk through the graph"], ["Esc", "clear"]].map(([key, what]) =>
        [el("dt", null, el("kbd", null, key)), el("dd", null, what)])),
  ];
}

listeners.push((selection) => {
  const makers = { kernel: kernelDetails, node: nodeDetails, edge: edgeDetails, unfused: unfusedDetails };
  const content = selection ? makers[selection.kind](selection.number) : nothingDetails();
  byId("details").replaceChildren(...content.flat(Infinity).filter(Boolean));
  byId("panel").scrollTop = 0;
  byId("panel").classList.toggle("open", Boolean(selection));
});
