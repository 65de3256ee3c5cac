// Bars in tables, of the pages that report numbers.

function bar(value, top) {
  const node = make("span", "bar");
  node.style.width = "max(" + (value ? 1 : 0) + "px, " + value / (top || 1) + " * var(--bar))";
  return node;
}

// Names of columns; those from number `first` on are over numbers.
function head(first, ...names) {
  return make("tr", "", ...names.map((name, k) => {
    const cell = make("th", k >= first ? "number" : "", name);
    cell.scope = "col";
    return cell;
  }));
}

function shareOf(n, all) {
  const percent = 100 * n / (all || 1);
  return (n && percent < .05 ? "< 0.1" : percent.toFixed(1)) + " %";
}

// A histogram: [title, [[name, how many], ...]]; what is 0 at its end is left out.
function chart([title, all_]) {
  const rows = all_.slice(0, all_.findLastIndex(([, n]) => n) + 1);
  const top = rows.reduce((most, [, n]) => Math.max(most, n), 0), all = rows.reduce((sum, [, n]) => sum + n, 0);
  return make("table", "", make("caption", "", title), ...rows.map(([name, n]) => make("tr", "", make("td", "", name),
    make("td", "number", n.toLocaleString("en")), make("td", "number", shareOf(n, all)),
    make("td", "", bar(n, top)))));
}
