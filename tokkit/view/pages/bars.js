// Elements, and bars in tables, of the pages that report numbers.
const longestBar = 140;

function made(kind, classes, ...content) {
  const node = document.createElement(kind);
  if (classes) node.className = classes;
  node.append(...content);
  return node;
}

function bar(value, top) {
  const node = made("span", "bar");
  node.style.width = Math.max(value ? 1 : 0, Math.round(longestBar * value / (top || 1))) + "px";
  return node;
}

function head(...names) { return made("tr", "", ...names.map(name => made("th", "", name))); }

// A histogram: [title, [[name, how many], ...]].
function chart([title, rows]) {
  const top = rows.reduce((most, [, n]) => Math.max(most, n), 0), all = rows.reduce((sum, [, n]) => sum + n, 0);
  return made("table", "", made("caption", "", title), ...rows.map(([name, n]) => made("tr", "", made("td", "", name),
    made("td", "number", n.toLocaleString("en")), made("td", "number", (100 * n / (all || 1)).toFixed(1) + " %"),
    made("td", "", bar(n, top)))));
}
