// Sortable tables. A long table shows its first rows; a button adds the others.
// Rows that look the same are shown as one row, with their number.
const FIRST_ROWS = 100;
const tables = {};

// `alike`: lists of rows that look the same.
// `minor`: selects rows that are shown on demand, and gives the text of their button.
function makeTable(id, kind, columns, rows, sorted, { alike = null, minor = null } = {}) {
  const table = { id, kind, columns, rows, shown: rows.map((_, number) => number), sort: sorted, all: false, minor, minorShown: false };
  table.first = rows.map((_, number) => number);
  for (const group of alike || []) for (const number of group) table.first[number] = group[0];
  table.heads = columns.map((column, place) =>
    el("th", { scope: "col", role: "columnheader", class: column.number ? "number" : null },
      el("button", { type: "button", onclick: () => sortBy(table, place) }, column.name, el("span", { class: "arrow", "aria-hidden": "true" }))));
  table.body = el("tbody", { role: "rowgroup" });
  table.more = el("button", { type: "button", class: "quiet more", onclick: () => { table.all = true; fillTable(table); } });
  table.minorButton = minor && el("button", { type: "button", class: "quiet more", onclick: () => { table.minorShown = !table.minorShown; fillTable(table); } });
  table.none = el("p", { class: "empty" });
  table.element = el("table", { class: "data", role: "table" }, el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, table.heads)), table.body);
  byId(id).append(el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": id === "kernels" ? "Fused kernels" : "Edges not fused" }, table.element), table.none, table.more, ...(minor ? [table.minorButton] : []));
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

// The rows to show, in order, each with the number of rows that look like it.
function rowsOf(table) {
  const minor = table.minor ? table.shown.filter((number) => table.minor.is(table.rows[number])) : [];
  if (table.minor) {
    table.minorButton.hidden = !minor.length;
    table.minorButton.textContent = `${table.minorShown ? "Hide" : "Show"} ${table.minor.name(minor.length)}`;
  }
  const hidden = new Set(table.minorShown ? [] : minor);
  const counts = new Map();
  for (const number of table.shown) {
    const first = table.first[number];
    if (!hidden.has(number)) counts.set(first, (counts.get(first) || 0) + 1);
  }
  const { place, down } = table.sort;
  const key = table.columns[place].key;
  return [...counts].sort(([one], [other]) => {
    const a = key(table.rows[one]), b = key(table.rows[other]);
    // Unknown values come last in both directions.
    if (a === null || a === undefined || b === null || b === undefined) return (a ?? null) === (b ?? null) ? one - other : (a ?? null) === null ? 1 : -1;
    const less = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
    return (down ? -less : less) || one - other;
  });
}

function fillTable(table) {
  const order = rowsOf(table);
  table.heads.forEach((head, number) => {
    if (number === table.sort.place) head.setAttribute("aria-sort", table.sort.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  const limit = table.all ? order.length : FIRST_ROWS;
  const isChosen = (number) => selected && selected.kind === table.kind && table.first[selected.number] === number;
  table.body.replaceChildren(...order.slice(0, limit).map(([number, count]) =>
    el("tr", { role: "row", "data-row": number, class: isChosen(number) ? "chosen" : null },
      table.columns.map((column, at) => el(at ? "td" : "th", { scope: at ? null : "row", role: at ? "cell" : "rowheader", "data-label": column.name, class: column.number ? "number" : column.class || null }, column.cell(table.rows[number], count))))));
  table.more.hidden = order.length <= limit;
  table.more.textContent = `Show all ${order.length.toLocaleString("en")}`;
  table.none.hidden = order.length > 0;
  table.element.hidden = order.length === 0;
  table.none.textContent = table.shown.length ? "No bytes are at stake." : table.rows.length ? "Nothing matches the search." : table.kind === "kernel" ? "No operators were fused." : "No edge was left unfused.";
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
const counted = (text, count) => [rowButton(text), count > 1 ? el("span", { class: "chip" }, `×${count.toLocaleString("en")}`) : null];
const savingClass = (row) => (row.measured === null || !row.clear ? "line1" : row.measured < 0 ? "line1 bad" : "line1 good");

function drawTables() {
  makeTable("kernels", "kernel", [
    { name: "Operators", key: (row) => row.ops, cell: (row, count) => twoLines(counted(row.ops, count), row.name), class: "wide" },
    { name: "Time", number: true, key: (row) => row.time, cell: (row) => twoLines(row.timeText, row.timeBefore === null ? null : `was ${row.timeBeforeText}`) },
    { name: "Saving", number: true, key: (row) => row.measured, cell: (row) => [el("span", { class: savingClass(row) }, row.measuredText), row.spreadText ? el("span", { class: "line2" }, row.spreadText) : null, row.predicted === null ? null : el("span", { class: "line2" }, `model ${row.predictedText}`)] },
    { name: "Runs", number: true, key: (row) => row.runs, cell: (row) => (row.runs === null ? "–" : `${row.runs.toLocaleString("en")}×`) },
    { name: "Bytes saved", number: true, key: (row) => row.saved, cell: (row) => (row.saved < 0 ? el("span", { class: "bad" }, row.savedText) : row.savedText) },
    { name: "Body", number: true, key: (row) => row.count, cell: (row) => String(row.count) },
    { name: "Error", number: true, key: (row) => row.error, cell: (row) => [el("span", { class: "line1" }, row.errorText), row.errorRemark ? el("span", { class: row.errorGood ? "line2" : "line2 bad" }, row.errorRemark) : null] },
    { name: "Bound", key: (row) => (row.work ? row.bound : null), cell: (row) => (row.work ? row.bound : "–") },
    { name: "Source", key: (row) => firstSource(row.src) || null, cell: (row) => firstSource(row.src) || "–", class: "where" },
  ], data.kernels, { place: 4, down: true }, { alike: data.alike });
  makeTable("unfused", "unfused", [
    { name: "Edge", key: (row) => row.ops, cell: (row) => twoLines(rowButton(row.ops), nodeName(row.b, row.to) || nodeName(row.a, row.from)), class: "wide" },
    { name: "At stake", number: true, key: (row) => row.stake, cell: (row) => row.stakeText },
    { name: "Reason", key: (row) => row.reason, cell: (row) => twoLines(row.reason, data.texts[row.detail]), class: "reason" },
    { name: "Change", key: (row) => (row.s === undefined ? null : data.suggestions[row.s].kind), cell: (row) => (row.s === undefined ? "–" : el("span", { class: "chip" }, data.suggestions[row.s].kind)) },
    { name: "Source", key: (row) => firstSource([...row.src].reverse()) || null, cell: (row) => firstSource([...row.src].reverse().slice(0, 1)) || "–", class: "where" },
  ], data.unfused, { place: 1, down: true },
    { minor: { is: (row) => row.stake === 0, name: (count) => `${countText(count, "edge")} with no bytes at stake` } });
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
      const row = table.body.querySelector(`tr[data-row="${table.first[selection.number]}"]`);
      if (row) row.classList.add("chosen");
    }
  }
});
