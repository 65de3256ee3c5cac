// The report on a vocabulary: all of it is text and bars.
const data = pageData(), report = element("report");

function texts(rows) {
  const top = rows.reduce((most, row) => Math.max(most, row[2]), 0);
  const body = rows.slice().sort((a, b) => a[2] - b[2]).map(([name, n, perWord, perToken]) => make("tr", "",
    make("td", "", spaced(name)), make("td", "number", n.toLocaleString("en")),
    make("td", "number", perToken.toFixed(2)), make("td", "number", perWord.toFixed(2)),
    make("td", "", bar(perWord, top))));
  return make("div", "scrolls", make("table", "", make("caption", "", "Texts, by tokens per word"),
    head(1, "text", "tokens", "bytes per token", "tokens per word", ""), ...body));
}

function tokens([title, n, some]) {
  const nodes = some.map(([text, id, times]) => make("span", "", shown(text), make("small", "", " " + id
    + (times === undefined ? "" : ", " + times.toLocaleString("en") + "\u00d7"))));
  const more = n > some.length ? [", the first " + some.length] : [];
  return [make("h2", "", title + ": " + n.toLocaleString("en"), ...more), n ? make("p", "tokens",
    ...nodes.flatMap(node => [node, " "])) : make("p", "none", "none")];
}

const facts = make("dl", "");
for (const [name, value] of data.facts) {
  facts.append(make("div", "", make("dt", "", name), make("dd", "", value)));
}
report.append(facts, make("div", "charts", ...data.bars.map(chart)), texts(data.texts), ...data.lists.flatMap(tokens));
