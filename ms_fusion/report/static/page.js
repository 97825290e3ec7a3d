"use strict";
// The page is built from this data with text nodes and attributes; no markup is ever parsed.
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick") node.addEventListener("click", value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== "") node.append(child);
  }
  return node;
}
const el = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
const svg = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

function timeText(us) {
  const [value, unit] = us >= 999500 ? [us / 1e6, "s"] : us >= 999.5 ? [us / 1e3, "ms"] : [us, "µs"];
  const digits = value === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}
const countText = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

const sourceText = (number) => (number < 0 ? "" : `${data.sources[number][0]}:${data.sources[number][1]}`);

// The selection: {kind: "kernel" | "node" | "edge" | "unfused", number}, or null.
// Parts of the page register listeners for it.
const listeners = [];
let selected = null;
function select(kind, number, options) {
  selected = kind === null ? null : { kind, number };
  for (const listen of listeners) listen(selected, options || {});
}
