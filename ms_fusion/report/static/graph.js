// The graph: operators at positions that the report computed, kernels as boxes around operators.
const graph = { nodes: [], groups: [], edges: [], scale: 1 };

function pathOf(points) {
  let path = `M${points[0]} ${points[1]}`;
  for (let i = 2; i < points.length; i += 2) {
    const [x0, y0, x1, y1] = points.slice(i - 2, i + 2);
    if (Math.abs(x0 - x1) < 0.3) path += `V${y1}`;
    else path += `C${x0} ${(y0 + y1) / 2} ${x1} ${(y0 + y1) / 2} ${x1} ${y1}`;
  }
  return path;
}

// An edge that is too long to draw has a stub at each end, with a ring that leads to the other end.
function stubsOf(edge) {
  const a = data.nodes[edge.a], b = data.nodes[edge.b];
  const ax = a.x + a.w - 12, ay = a.y + a.h, bx = b.x + b.w - 12, by = b.y;
  return `M${ax} ${ay}v9m-3 3a3 3 0 1 0 6 0a3 3 0 1 0 -6 0M${bx} ${by}v-9m-3 -3a3 3 0 1 0 6 0a3 3 0 1 0 -6 0`;
}

function edgeElement(edge, number) {
  const a = data.nodes[edge.a], b = data.nodes[edge.b];
  const kind = edge.in ? "inside" : edge.u ? "unfused" : "";
  const line = edge.p.length ? pathOf(edge.p) : stubsOf(edge);
  const title = `${a.op} → ${b.op}: ${edge.v.join("; ")}`;
  const parts = [
    svg("title", null, title),
    svg("path", { class: "halo", d: line }),
    svg("path", { class: "line", d: line, "marker-end": edge.p.length ? "url(#arrow)" : null }),
  ];
  if (edge.v.length > 1 && edge.p.length) {
    const x = edge.p[edge.p.length - 2], y = edge.p[edge.p.length - 1];
    parts.push(svg("text", { class: "times", x: x + 5, y: y - 9 }, `×${edge.v.length}`));
  }
  return svg("g", { class: `edge ${kind}`, "data-edge": number }, parts);
}

function nodeElement(node, number) {
  const where = node.under ? ` in ${node.under}` : "";
  const middle = node.w / 2;
  return svg(
    "g",
    {
      class: `node ${node.family || ""}${node.k ? " fused" : ""}${node.single ? " single" : ""}`,
      transform: `translate(${node.x} ${node.y})`,
      "data-node": number,
      role: "button",
      tabindex: -1,
      "aria-label": `Operator ${node.op}${where}`,
    },
    svg("title", null, node.name),
    svg("rect", { width: node.w, height: node.h, rx: node.family === "input" ? 18 : 5 }),
    node.family === "product" || node.family === "reduction"
      ? svg("path", { class: "tag", d: `M0 5a5 5 0 0 1 5 -5v${node.h}a5 5 0 0 1 -5 -5z` })
      : null,
    svg("text", { class: "label", x: middle, y: node.under ? 16 : 22 }, node.label),
    node.under ? svg("text", { class: "under", x: middle, y: 29 }, node.under) : null,
  );
}

function clipped(text, width) {
  const letters = Math.max(3, Math.floor(width / 7.2));
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}

function groupElement(group, number) {
  const [x, y, w, h] = group.b;
  const share = w / group.k.length;
  const titles = group.k.map((kernel, place) =>
    svg(
      "g",
      {
        class: "kernel",
        "data-kernel": kernel,
        transform: `translate(${place * share} 0)`,
        role: "button",
        tabindex: -1,
        "aria-label": `Fused kernel ${data.kernels[kernel].ops}`,
      },
      svg("title", null, `${data.kernels[kernel].name}: ${data.kernels[kernel].ops}`),
      svg("rect", { class: "hit", width: share, height: group.k.length > 1 ? 22 : h, rx: 8 }),
    ),
  );
  return svg(
    "g",
    { class: "group", transform: `translate(${x} ${y})`, "data-group": number },
    svg("rect", { class: "frame", width: w, height: h, rx: 8 }),
    titles,
  );
}

// Titles are drawn above the lines that enter the box.
function titleElements(group) {
  const [x, y, w, h] = group.b, share = w / group.k.length;
  const held = new Set(group.k.flatMap((kernel) => data.kernels[kernel].nodes || []));
  const cover = svg(
    "g",
    { class: "cover", "data-kernel": group.k[0] },
    svg("rect", { class: "frame", x, y, width: w, height: h, rx: 8 }),
    svg("text", { class: "kernel-core", x: x + w / 2, y: y + h / 2 + 10 }, countText(held.size, "operator")),
  );
  const titles = group.k.map((kernel, place) =>
    svg("text", { class: "kernel-title", "data-kernel": kernel, x: x + place * share + 10, y: y + 15 }, clipped(data.kernels[kernel].ops, share - 16)));
  return [cover, ...titles];
}

function drawGraph() {
  const [width, height] = data.size;
  const holder = byId("graph");
  if (!data.nodes.length) {
    holder.append(el("p", { class: "empty" }, "The graph holds no operators."));
    return;
  }
  graph.groups = data.groups.map(groupElement);
  graph.edges = data.edges.map(edgeElement);
  graph.nodes = data.nodes.map(nodeElement);
  graph.root = svg(
    "svg",
    { class: "drawing", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Operators before fusion, with fused kernels as boxes" },
    svg(
      "defs",
      null,
      svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
        svg("path", { d: "M0 .8 7.4 4 0 7.2z", class: "head" })),
    ),
    svg("g", null, graph.groups),
    svg("g", null, graph.edges),
    svg("g", null, graph.nodes),
    svg("g", { class: "titles", "aria-hidden": "true" }, data.groups.flatMap(titleElements)),
  );
  holder.append(graph.root);
  holder.classList.toggle("tall", height > 3200);
  // The first zoom shows a wide graph whole, unless it would be too small to read.
  zoomTo(Math.min(1, Math.max(0.6, (holder.clientWidth - 2) / width)));
  holder.scrollLeft = (holder.scrollWidth - holder.clientWidth) / 2;
  graph.stops = [
    ...data.groups.flatMap((group, number) =>
      [...graph.groups[number].querySelectorAll(".kernel")].map((element) => ({ y: group.b[1] - 0.5, x: group.b[0], element }))),
    ...data.nodes.map((node, number) => ({ y: node.y, x: node.x, element: graph.nodes[number] })),
  ].sort((one, other) => one.y - other.y || one.x - other.x).map((stop) => stop.element);
  if (graph.stops.length) graph.stops[0].setAttribute("tabindex", 0);
  graph.root.addEventListener("click", (event) => pick(event.target));
  graph.root.addEventListener("keydown", walk);
}

function zoomTo(scale) {
  if (!graph.root) return;
  const holder = byId("graph");
  const middle = (holder.scrollTop + holder.clientHeight / 2) / Math.max(1, holder.scrollHeight);
  graph.scale = Math.min(2, Math.max(0.1, scale));
  graph.root.setAttribute("width", data.size[0] * graph.scale);
  graph.root.setAttribute("height", data.size[1] * graph.scale);
  byId("zoom-reset").textContent = `${Math.round(graph.scale * 100)} %`;
  if (holder.scrollTop) holder.scrollTop = middle * holder.scrollHeight - holder.clientHeight / 2;
}

function pick(target) {
  const node = target.closest("[data-node]"), kernel = target.closest("[data-kernel]"), edge = target.closest("[data-edge]");
  if (node) select("node", Number(node.dataset.node), { still: true });
  else if (kernel) select("kernel", Number(kernel.dataset.kernel), { still: true });
  else if (edge) select("edge", Number(edge.dataset.edge), { still: true });
}

// The tab key stops once at the graph; arrow keys move the focus inside the graph.
function walk(event) {
  const here = graph.stops.indexOf(event.target);
  if (here < 0) return;
  if (event.key === "Enter" || event.key === " ") pick(event.target);
  else {
    const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
    const step = steps[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? graph.stops.length - 1 : step ? here + step : -1;
    if (!graph.stops[next]) return;
    event.target.setAttribute("tabindex", -1);
    graph.stops[next].setAttribute("tabindex", 0);
    graph.stops[next].focus({ preventScroll: true });
    reveal(graph.stops[next]);
  }
  event.preventDefault();
}

function reveal(element) {
  const holder = byId("graph");
  const box = element.getBoundingClientRect(), frame = holder.getBoundingClientRect();
  const out = box.top < frame.top + 20 || box.bottom > frame.bottom - 20 || box.left < frame.left || box.right > frame.right;
  if (!out) return;
  holder.scrollTop += box.top + Math.min(box.height, frame.height) / 2 - frame.top - frame.height / 2;
  holder.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
}

// The elements that show a selection in the graph.
function elementsOf(selection) {
  if (!selection || !graph.root) return [];
  const { kind, number } = selection;
  if (kind === "node") return [graph.nodes[number]];
  if (kind === "kernel") {
    const group = data.groups.findIndex((one) => one.k.includes(number));
    return group < 0 ? [] : [graph.groups[group].querySelector(`[data-kernel="${number}"]`), graph.groups[group]];
  }
  const edge = kind === "edge" ? number : data.edges.findIndex((one) => (one.u || []).includes(number));
  if (edge >= 0) return [graph.edges[edge]];
  const record = data.unfused[number];
  return [record.a, record.b].filter((end) => end >= 0).map((end) => graph.nodes[end]);
}

listeners.push((selection, options) => {
  if (!graph.root) return;
  for (const old of graph.root.querySelectorAll(".chosen")) old.classList.remove("chosen");
  const found = elementsOf(selection);
  for (const element of found) element.classList.add("chosen");
  if (found.length && !options.still) reveal(found[0]);
});
