// The page of tokens: it has the tokens of the whole text.
const data = pageData(), bytes = new Uint8Array(numbers(data.utf8).buffer), sets = data.sets.map(TokenSet.of);
const heads = make("div", "heads");
const panes = new Panes(element("panes"), { readout: element("readout"), heads });

async function copy(set) { element("readout").textContent = await copyIds(Array.from(set.ids)); }

heads.append(...sets.map(set => headOf(set, bytes.length, { copy: () => copy(set) })));
element("panes").before(heads);
panes.show({ bytes, names: sets.map(set => set.name), range: () => sets });
element("marks").addEventListener("change", event => panes.set({ marks: event.target.checked }));
element("show").addEventListener("change", event => panes.set({ ids: event.target.value === "ids" }));
