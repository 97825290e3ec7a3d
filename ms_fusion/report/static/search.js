// Search by operator, scope or file: tables keep matching rows, the graph dims other elements.
const search = { matches: [], at: -1 };

const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
const filesOf = (numbers) => (numbers || []).filter((number) => number >= 0).map(sourceText).join(" ");
const nodeHay = (node) => `${node.op} ${node.name} ${node.from || ""} ${filesOf(node.src)}`.toLowerCase();
const hays = {};

function prepare() {
  hays.nodes = data.nodes.map(nodeHay);
  hays.kernels = data.kernels.map((kernel) =>
    `${kernel.ops} ${kernel.name} ${kernel.full} ${kernel.body} ${filesOf(kernel.src)} `.toLowerCase() + (kernel.nodes || []).map((number) => hays.nodes[number]).join(" ") + kernel.elsewhere.flat().join(" ").toLowerCase());
  hays.unfused = data.unfused.map((edge) =>
    `${edge.ops} ${nodeName(edge.a, edge.from)} ${nodeName(edge.b, edge.to)} ${edge.reason} ${filesOf(edge.src)}`.toLowerCase());
}

function runSearch(text) {
  const wanted = words(text);
  if (!hays.nodes) prepare();
  const matching = (list) => list.flatMap((hay, number) => (wanted.every((word) => hay.includes(word)) ? [number] : []));
  const active = wanted.length > 0;
  const kernels = active ? matching(hays.kernels) : null;
  const unfused = active ? matching(hays.unfused) : null;
  search.matches = active ? matching(hays.nodes) : [];
  search.at = -1;
  filterTable("kernels", kernels);
  filterTable("unfused", unfused);
  if (graph.root) {
    graph.root.classList.toggle("searching", active);
    const hit = new Set(search.matches);
    graph.nodes.forEach((element, number) => element.classList.toggle("match", hit.has(number)));
  }
  byId("found").textContent = active ? `${countText(search.matches.length, "operator")}, ${countText(kernels.length, "kernel")}, ${countText(unfused.length, "edge")}` : "";
}

function nextMatch(step) {
  if (!search.matches.length) return;
  search.at = (search.at + step + search.matches.length) % search.matches.length;
  select("node", search.matches[search.at]);
}
