// The page of tokens: it has the tokens of the whole text.
const data = pageData(), bytes = new Uint8Array(numbers(data.utf8).buffer), sets = data.sets.map(TokenSet.of);
const panes = new Panes(element("panes"), { readout: element("readout") });
const heads = document.createElement("div");
heads.className = "heads";
for (const set of sets) {
  const head = document.createElement("div"), n = bytes.length;
  const add = (kind, text) => head.append(Object.assign(document.createElement(kind), { textContent: text }));
  if (set.name) add("strong", shown(set.name).replace(/\u2423/g, " "));
  add("span", set.n.toLocaleString("en") + (set.n === 1 ? " token" : " tokens"));
  add("span", n.toLocaleString("en") + (n === 1 ? " byte" : " bytes"));
  if (set.n) add("span", (n / set.n).toFixed(2) + " bytes per token");
  for (const span of head.querySelectorAll("span")) span.className = "number";
  heads.append(head);
}
heads.style.setProperty("--columns", sets.length);
element("panes").before(heads);
element("panes").addEventListener("scroll", () => { heads.scrollLeft = element("panes").scrollLeft; });
element("panes").setAttribute("role", "region");
element("panes").setAttribute("aria-label", "Tokens; arrow keys move");
panes.show({ bytes, names: sets.map(set => set.name), range: () => sets });
element("marks").addEventListener("change", event => panes.set({ marks: event.target.checked }));
