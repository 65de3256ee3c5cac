// The page of tokens: it has the tokens of the whole text.
const data = pageData(), bytes = new Uint8Array(numbers(data.utf8).buffer), sets = data.sets.map(TokenSet.of);
const panes = new Panes(element("panes"), { readout: element("readout") });
const heads = document.createElement("div");
heads.className = "heads";
for (const set of sets) {
  const head = document.createElement("div"), n = bytes.length, rate = set.n ? (n / set.n).toFixed(2) : "0";
  head.textContent = shown(set.name) + ": " + set.n.toLocaleString("en") + (set.n === 1 ? " token, " : " tokens, ")
    + n.toLocaleString("en") + " bytes, " + rate + " bytes per token";
  heads.append(head);
}
heads.style.setProperty("--columns", sets.length);
element("panes").before(heads);
element("panes").setAttribute("role", "region");
element("panes").setAttribute("aria-label", "Tokens; arrow keys move");
panes.show({ bytes, names: sets.map(set => set.name), range: () => sets });
element("marks").addEventListener("change", event => panes.set({ marks: event.target.checked }));
