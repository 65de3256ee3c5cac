// The report on a vocabulary: all of it is text and bars.
const data = pageData(), report = element("report");

function texts(rows) {
  const top = rows.reduce((most, row) => Math.max(most, row[2]), 0);
  const body = rows.slice().sort((a, b) => a[2] - b[2]).map(([name, n, perWord, perToken]) => made("tr", "",
    made("td", "", shown(name)), made("td", "number", n.toLocaleString("en")),
    made("td", "number", perToken.toFixed(2)), made("td", "number", perWord.toFixed(2)),
    made("td", "", bar(perWord, top))));
  return made("div", "scrolls", made("table", "", made("caption", "", "Texts, by tokens per word"),
    head(1, "text", "tokens", "bytes per token", "tokens per word", ""), ...body));
}

function tokens([title, n, some]) {
  const nodes = some.map(([text, id, times]) => made("span", "", shown(text), made("small", "", " " + id
    + (times === undefined ? "" : ", " + times.toLocaleString("en") + "\u00d7"))));
  const more = n > some.length ? [", the first " + some.length] : [];
  return [made("h2", "", title + ": " + n.toLocaleString("en"), ...more), n ? made("p", "tokens",
    ...nodes.flatMap(node => [node, " "])) : made("p", "none", "none")];
}

const facts = made("dl", "");
for (const [name, value] of data.facts) {
  facts.append(made("div", "", made("dt", "", name), made("dd", "", value)));
}
report.append(facts, made("div", "charts", ...data.bars.map(chart)), texts(data.texts), ...data.lists.flatMap(tokens));
