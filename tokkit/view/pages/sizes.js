// Trade-offs of models and vocabulary sizes: lines over the size, tokens per word by file, lengths of tokens.
const data = pageData(), report = element("report"), readout = element("readout");

function told(title) {
  return (name, x, y) => {
    const said = spaced(name) + ", vocabulary of " + x.toLocaleString("en") + ": " + roundly(y);
    readout.textContent = said + " \u2013 " + title;
  };
}

// Tokens per word of each file by each model, the least first. Scripts that write no spaces have words of whole lines:
// their bars end where those of twice the third quartile do.
function byFile(files) {
  const all = files.flatMap(([, values]) => values.map(value => value || 0)).sort((a, b) => a - b);
  const top = Math.min(all[all.length - 1], 2 * all[Math.floor(all.length * .75)] || Infinity);
  const sum = ([, values]) => values.reduce((all, value) => all + (value || 0), 0);
  const rows = files.slice().sort((a, b) => sum(a) - sum(b)).map(([file, values]) => make("tr", "",
    make("td", "", spaced(file)), ...values.flatMap((value, k) => {
      const swatch = make("span", "swatch line" + (k % lineColours + 1));
      swatch.style.width = Math.round(90 * Math.min(1, (value || 0) / (top || 1))) + "px";
      if (value > top) swatch.classList.add("longer");
      return [make("td", "number", value === null ? "\u2013" : value.toFixed(2)), make("td", "", swatch)];
    })));
  const titles = make("tr", "", make("th", "", "file"), ...data.models.map(name => {
    const cell = make("th", "", spaced(name) + ", " + data.sizes[name].toLocaleString("en"));
    cell.colSpan = 2;
    return cell;
  }));
  return make("div", "scrolls", make("table", "", make("caption", "", "Tokens per word"), titles, ...rows));
}

function table() {
  const rows = data.series[0][1].flatMap(([name, points]) => points.map(([x]) => make("tr", "",
    make("td", "", spaced(name)), make("td", "number", x.toLocaleString("en")), ...data.series.map(([, lines]) => {
      const line = lines.find(([other]) => other === name), point = line && line[1].find(([at]) => at === x);
      return make("td", "number", point ? roundly(point[1]) : "\u2013");
    }))));
  return make("div", "scrolls", make("table", "", make("caption", "", "All numbers"),
    head(1, "model", "vocabulary", ...data.series.map(([title]) => title.toLowerCase())), ...rows));
}

report.append(legend(data.models), make("div", "charts", ...data.series.map(([title, lines]) => {
  const ordered = data.models.map(name => lines.find(([other]) => other === name) || [name, []]);
  return lineChart(title, ordered, told(title.toLowerCase()));
})));
if (data.files.length > 1) {
  report.append(make("h2", "", "By file, with each model's largest vocabulary"), byFile(data.files));
}
if (data.lengths.length) {
  report.append(make("h2", "", "Characters in a token, in each model's largest vocabulary"), make("div", "charts",
    ...data.lengths.map(([name, rows]) => chart([spaced(name), rows]))));
}
for (const [name, tokens] of data.longest) {
  if (!tokens.length) continue;
  report.append(make("h2", "", "Longest tokens of " + spaced(name)), make("p", "tokens",
    ...tokens.flatMap(token => [make("span", "", shown(token)), " "])));
}
report.append(table());
