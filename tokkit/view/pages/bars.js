// Elements, and bars in tables, of the pages that report numbers.

function made(kind, classes, ...content) {
  const node = document.createElement(kind);
  if (classes) node.className = classes;
  node.append(...content);
  return node;
}

function bar(value, top) {
  const node = made("span", "bar");
  node.style.width = "max(" + (value ? 1 : 0) + "px, " + value / (top || 1) + " * var(--bar))";
  return node;
}

// Names of columns; those from number `first` on are over numbers.
function head(first, ...names) {
  return made("tr", "", ...names.map((name, k) => {
    const cell = made("th", k >= first ? "number" : "", name);
    cell.scope = "col";
    return cell;
  }));
}

// A histogram: [title, [[name, how many], ...]]; what is 0 at its end is left out.
function chart([title, all_]) {
  const rows = all_.slice(0, all_.findLastIndex(([, n]) => n) + 1);
  const top = rows.reduce((most, [, n]) => Math.max(most, n), 0), all = rows.reduce((sum, [, n]) => sum + n, 0);
  return made("table", "", made("caption", "", title), ...rows.map(([name, n]) => made("tr", "", made("td", "", name),
    made("td", "number", n.toLocaleString("en")), made("td", "number", (100 * n / (all || 1)).toFixed(1) + " %"),
    made("td", "", bar(n, top)))));
}
