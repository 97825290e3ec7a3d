// Start: draws the page, then registers the event listeners.
const root = document.documentElement;

function storedTheme(value) {
  // Browsers may deny storage to a page opened from disk.
  try {
    if (value) localStorage.setItem("ms_fusion.theme", value);
    return localStorage.getItem("ms_fusion.theme");
  } catch {
    return null;
  }
}
const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
function nameTheme() {
  byId("theme").textContent = isDark() ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
}
const kept = storedTheme();
if (kept === "dark" || kept === "light") root.dataset.theme = kept;
nameTheme();
byId("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  storedTheme(root.dataset.theme);
  nameTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);

drawGraph();
drawTables();
select(null);

byId("mode").addEventListener("change", (event) => { byId("graph").dataset.mode = event.target.value; });
byId("graph").dataset.mode = document.querySelector("#mode input:checked").value;
byId("zoom-in").addEventListener("click", () => zoomTo(graph.scale * 1.25));
byId("zoom-out").addEventListener("click", () => zoomTo(graph.scale / 1.25));
byId("zoom-reset").addEventListener("click", () => zoomTo(1));
byId("close").addEventListener("click", () => select(null));

let waiting = 0;
byId("search").addEventListener("input", (event) => {
  clearTimeout(waiting);
  waiting = setTimeout(() => runSearch(event.target.value), 80);
});
byId("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input[type=search]");
  if (event.key === "/" && !typing) {
    event.preventDefault();
    byId("search").focus();
  } else if (event.key === "Escape") {
    if (typing && byId("search").value) {
      byId("search").value = "";
      runSearch("");
    } else select(null);
  }
});
for (const dot of document.querySelectorAll(".dot")) {
  dot.addEventListener("click", () => select("kernel", Number(dot.dataset.kernel)));
}
listeners.push((selection) => {
  for (const dot of document.querySelectorAll(".dot")) {
    dot.classList.toggle("chosen", Boolean(selection) && selection.kind === "kernel" && Number(dot.dataset.kernel) === selection.number);
  }
});
// A selection made far down the page scrolls to the panel, which shows it.
listeners.push((selection) => {
  const stage = document.querySelector(".stage"), panel = byId("panel");
  if (!selection || getComputedStyle(panel).position === "fixed") return;
  const box = stage.getBoundingClientRect();
  if (box.bottom < 200 || box.top > innerHeight - 200) stage.scrollIntoView({ block: "start" });
});
addEventListener("beforeprint", () => {
  for (const table of Object.values(tables)) {
    table.all = true;
    fillTable(table);
  }
});
requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("report-ready")));
