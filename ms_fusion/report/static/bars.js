// The four stages of each kernel as bars, before and after on one scale.
const STAGES = ["launch", "read", "compute", "write"];
// Reading and writing share the memory bandwidth; computing overlaps with both.
const totalOf = ([launch, read, compute, write]) => launch + Math.max(read + write, compute);

function ticksOf(longest) {
  const rough = longest / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999);
  const ticks = [];
  for (let at = 0; at <= longest * 1.0001; at += step) ticks.push(at);
  return ticks;
}

function stageBars(kernel) {
  const before = kernel.stagesBefore || [], after = kernel.stages ? [kernel.stages] : [];
  const rows = [["before", before], ["after", after]].filter(([, list]) => list.length);
  const longest = Math.max(0, ...rows.map(([, list]) => list.reduce((sum, one) => sum + totalOf(one), 0)));
  if (!longest) return null;
  const left = 46, width = 308, right = 74, lane = 9, top = 4, gap = 16;
  const scale = width / longest;
  const parts = [];
  const height = top + rows.length * (2 * lane + gap) + 14;
  for (const tick of ticksOf(longest)) {
    const x = left + tick * scale;
    parts.push(
      svg("path", { class: "grid", d: `M${x} ${top}V${height - 16}` }),
      svg("text", { class: "tick", x, y: height - 3, "text-anchor": "middle" }, timeText(tick)),
    );
  }
  rows.forEach(([name, list], row) => {
    const y = top + 4 + row * (2 * lane + gap);
    let at = left;
    parts.push(svg("text", { class: "bar-name", x: 0, y: y + lane + 4 }, name));
    list.forEach((stages, number) => {
      const [launch, read, compute, write] = stages;
      const start = at + launch * scale;
      const block = (kind, x, length, up, tall) =>
        length * scale > 0.05
          ? svg("rect", { class: `stage-${kind}`, x, y: y + up, width: length * scale, height: tall },
              svg("title", null, `${name}${list.length > 1 ? `, operator ${number + 1}` : ""}: ${kind} ${timeText(length)}`))
          : null;
      parts.push(
        block("launch", at, launch, 0, 2 * lane),
        block("read", start, read, 0, lane - 0.5),
        block("write", start + read * scale, write, 0, lane - 0.5),
        block("compute", start, compute, lane + 0.5, lane - 0.5),
      );
      at += totalOf(stages) * scale;
      if (list.slice(number + 1).some((one) => totalOf(one) > 0)) parts.push(svg("path", { class: "seam", d: `M${at} ${y - 3}v${2 * lane + 6}` }));
    });
    const total = list.reduce((sum, one) => sum + totalOf(one), 0);
    parts.push(svg("text", { class: "bar-total", x: at + 6, y: y + lane + 4 }, timeText(total)));
  });
  return svg(
    "svg",
    { class: "bars", viewBox: `0 0 ${left + width + right} ${height}`, role: "img", "aria-label": "Modelled stages before and after, to scale" },
    parts.filter(Boolean),
  );
}

function stageTable(kernel) {
  const sum = (list, place) => list.reduce((total, one) => total + one[place], 0);
  const before = kernel.stagesBefore || [], after = kernel.stages ? [kernel.stages] : [];
  if (!before.length && !after.length) return null;
  const cell = (list, value) => el("td", { class: "number" }, list.length ? timeText(value) : "–");
  const rows = STAGES.map((name, place) =>
    el("tr", null, el("th", { scope: "row" }, el("span", { class: `swatch swatch-${name}` }), name),
      cell(before, sum(before, place)), cell(after, sum(after, place))));
  const totals = [before, after].map((list) => cell(list, list.reduce((total, one) => total + totalOf(one), 0)));
  return el("table", { class: "small" },
    el("thead", null, el("tr", null, el("th", { scope: "col" }, "modelled"), el("th", { scope: "col", class: "number" }, "before"), el("th", { scope: "col", class: "number" }, "after"))),
    el("tbody", null, rows, el("tr", { class: "total" }, el("th", { scope: "row" }, "total"), totals)));
}
