// Sortable tables; long ones are filled when asked for.
const FIRST_ROWS = 100;
const tables = {};

function makeTable(id, kind, columns, rows, sorted) {
  const table = { kind, columns, rows, shown: rows.map((_, number) => number), sort: sorted, all: false };
  table.heads = columns.map((column, place) =>
    el("th", { scope: "col", class: column.number ? "number" : null },
      el("button", { type: "button", onclick: () => sortBy(table, place) }, column.name, el("span", { class: "arrow", "aria-hidden": "true" }))));
  table.body = el("tbody");
  table.more = el("button", { type: "button", class: "quiet more", onclick: () => { table.all = true; fillTable(table); } });
  table.none = el("p", { class: "empty" });
  table.element = el("table", { class: "data" }, el("thead", null, el("tr", null, table.heads)), table.body);
  byId(id).append(el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": id === "kernels" ? "Fused kernels" : "Edges not fused" }, table.element), table.none, table.more);
  table.body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row) select(kind, Number(row.dataset.row));
  });
  tables[id] = table;
  fillTable(table);
}

function sortBy(table, place) {
  const same = table.sort.place === place;
  table.sort = { place, down: same ? !table.sort.down : Boolean(table.columns[place].number) };
  fillTable(table);
}

function fillTable(table) {
  const { place, down } = table.sort;
  const key = table.columns[place].key;
  const order = [...table.shown].sort((one, other) => {
    const a = key(table.rows[one]), b = key(table.rows[other]);
    // What is not known stands last in both directions.
    if (a === null || a === undefined || b === null || b === undefined) return (a ?? null) === (b ?? null) ? one - other : (a ?? null) === null ? 1 : -1;
    const less = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
    return (down ? -less : less) || one - other;
  });
  table.heads.forEach((head, number) => {
    if (number === place) head.setAttribute("aria-sort", down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  const limit = table.all ? order.length : FIRST_ROWS;
  table.body.replaceChildren(...order.slice(0, limit).map((number) =>
    el("tr", { "data-row": number, class: selected && selected.kind === table.kind && selected.number === number ? "chosen" : null },
      table.columns.map((column, at) => el(at ? "td" : "th", { scope: at ? null : "row", class: column.number ? "number" : column.class || null }, column.cell(table.rows[number]))))));
  table.more.hidden = order.length <= limit;
  table.more.textContent = `Show all ${order.length.toLocaleString("en")}`;
  table.none.hidden = order.length > 0;
  table.element.hidden = order.length === 0;
  table.none.textContent = table.rows.length ? "Nothing matches the search." : table.kind === "kernel" ? "No operators were fused." : "No edge was left unfused.";
}

function filterTable(id, numbers) {
  const table = tables[id];
  table.shown = numbers || table.rows.map((_, number) => number);
  byId(`${id}-tally`).textContent = numbers ? `${numbers.length.toLocaleString("en")} of ${table.rows.length.toLocaleString("en")}` : table.rows.length.toLocaleString("en");
  fillTable(table);
}

const twoLines = (first, second) => [el("span", { class: "line1" }, first), second ? el("span", { class: "line2" }, second) : null];
const rowButton = (text) => el("button", { type: "button", class: "rowlink" }, text);
const firstSource = (numbers) => {
  const known = (numbers || []).filter((number) => number >= 0);
  return known.length ? sourceText(known[0]) + (known.length > 1 ? ` +${known.length - 1}` : "") : "";
};
const nodeName = (number, name) => (number >= 0 ? data.nodes[number].name : name || "");

function drawTables() {
  makeTable("kernels", "kernel", [
    { name: "Operators", key: (row) => row.ops, cell: (row) => twoLines(rowButton(row.ops), row.name), class: "wide" },
    { name: "Source", key: (row) => firstSource(row.src) || null, cell: (row) => firstSource(row.src) || "–", class: "where" },
    { name: "Body", number: true, key: (row) => row.count, cell: (row) => String(row.count) },
    { name: "Bytes saved", number: true, key: (row) => row.saved, cell: (row) => (row.saved < 0 ? el("span", { class: "bad" }, row.savedText) : row.savedText) },
    { name: "Time", number: true, key: (row) => row.time, cell: (row) => twoLines(row.timeText, row.timeBefore === null ? null : `was ${row.timeBeforeText}`) },
    { name: "Saving", number: true, key: (row) => row.measured, cell: (row) => [el("span", { class: row.measured === null ? "line1" : row.measured < 0 ? "line1 bad" : "line1 good" }, row.measuredText), row.predicted === null ? null : el("span", { class: "line2" }, `model ${row.predictedText}`)] },
    { name: "Bound", key: (row) => (row.work ? row.bound : null), cell: (row) => (row.work ? row.bound : "–") },
    { name: "Runs", number: true, key: (row) => row.runs, cell: (row) => (row.runs === null ? "–" : `${row.runs.toLocaleString("en")}×`) },
    { name: "Max ULP", number: true, key: (row) => row.ulp, cell: (row) => row.ulpText },
  ], data.kernels, { place: 3, down: true });
  makeTable("unfused", "unfused", [
    { name: "Edge", key: (row) => row.ops, cell: (row) => twoLines(rowButton(row.ops), nodeName(row.b, row.to) || nodeName(row.a, row.from)), class: "wide" },
    { name: "At stake", number: true, key: (row) => row.stake, cell: (row) => row.stakeText },
    { name: "Reason", key: (row) => row.reason, cell: (row) => twoLines(row.reason, data.texts[row.detail]), class: "reason" },
    { name: "Change", key: (row) => (row.s === undefined ? null : data.suggestions[row.s].kind), cell: (row) => (row.s === undefined ? "–" : el("span", { class: "chip" }, data.suggestions[row.s].kind)) },
    { name: "Source", key: (row) => firstSource([...row.src].reverse()) || null, cell: (row) => firstSource([...row.src].reverse().slice(0, 1)) || "–", class: "where" },
  ], data.unfused, { place: 1, down: true });
  byId("suggestions-section").hidden = !data.suggestions.length;
  byId("suggestions").append(...data.suggestions.map((one) =>
    el("li", null,
      el("p", null, el("span", { class: "chip" }, one.kind), " ", one.text, " ", el("span", { class: "muted" }, `${countText(one.count, "edge")}, ${one.stake} at stake`)),
      one.flags ? el("pre", { class: "flags" }, el("code", null, one.flags)) : null)));
}

listeners.push((selection) => {
  for (const table of Object.values(tables)) {
    for (const old of table.body.querySelectorAll("tr.chosen")) old.classList.remove("chosen");
    if (selection && selection.kind === table.kind) {
      const row = table.body.querySelector(`tr[data-row="${selection.number}"]`);
      if (row) row.classList.add("chosen");
    }
  }
});
