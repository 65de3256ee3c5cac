// What a model expects along a text: tokens by how surprising they are, and what else could have come.
const data = pageData(), n = numbers(data.ids).byteLength / 4, tones = 8, maxBar = 110;
const logprobs = floats(data.logprobs), entropies = floats(data.entropies), ranks = integers(data.ranks);
const best = integers(data.best), ofBest = floats(data.of_best), bits = Math.log(2);
const bytes = new Uint8Array(numbers(data.utf8).buffer);

// From 0, as it had to be, to 1; null for the first token, of which nothing is expected.
const measures = {
  surprise: i => -logprobs[i - 1] / bits / 16,
  rank: i => Math.log(ranks[i - 1]) / Math.log(Math.max(2, data.n_ids)),
  doubt: i => entropies[i - 1] / bits / 12,
};
const scales = { surprise: ["0 bits", "16"], rank: ["1st", "last"], doubt: ["0 bits", "12"] };

function toneOf(k) {
  if (!k) return "h0";
  return "h" + Math.min(tones, Math.max(0, Math.round(measures[element("by").value](k) * tones)));
}

const set = new TokenSet({
  name: "text", n, ids: integers(data.ids), starts: integers(data.starts), ends: integers(data.ends),
  tokens: data.tokens, toneOf,
});
const panes = new Panes(element("panes"), {
  readout: element("readout"), pointed: (_, number) => tell(number), chosen: (_, number) => tell(number),
});

function called(id) {
  const token = data.tokens[id];
  return token ? named(token[0]) : "#" + id;
}

function percent(logprob) {
  const part = 100 * Math.exp(logprob);
  return (part >= 99.95 ? part.toFixed(1) : part.toPrecision(3)) + " %";
}

// The most probable tokens at a place: before token i, or after the text for n.
function list(i) {
  const rows = [], own = i < n ? set.ids[i] : -1;
  const row = (id, logprob) => {
    const bar = make("span", "bar");
    bar.style.width = Math.max(1, Math.round(Math.exp(logprob) * maxBar)) + "px";
    const cells = [called(id), percent(logprob), bar].map(each => make("td", "", each));
    return make("tr", id === own ? "own" : "", ...cells);
  };
  let isThere = false;
  for (let k = (i - 1) * data.k; k < i * data.k; k++) {
    isThere = isThere || best[k] === own;
    rows.push(row(best[k], ofBest[k]));
  }
  if (own >= 0 && !isThere) rows.push(row(own, logprobs[i - 1]));
  element("best").replaceChildren(...rows);
}

function tell(i) {
  if (!i) {
    element("where").textContent = "The first token: nothing comes before it";
    return element("best").replaceChildren();
  }
  const surprise = (-logprobs[i - 1] / bits).toFixed(2), doubt = (entropies[i - 1] / bits).toFixed(2);
  element("readout").append(...written([
    ["probability", percent(logprobs[i - 1])], ["surprise", surprise + " bits"],
    ["rank", ranks[i - 1].toLocaleString("en")], ["entropy before it", doubt + " bits"],
  ]));
  element("where").textContent = "Expected at token " + (i + 1).toLocaleString("en");
  list(i);
}

function after() { element("where").textContent = "After the text", list(n); }

function scale() {
  const [low, high] = scales[element("by").value];
  const boxes = Array.from({ length: tones + 1 }, (_, k) => make("i", "h" + k));
  element("scale").replaceChildren(low, ...boxes, high);
}

element("about").textContent = data.about;
element("after").addEventListener("click", after);
element("by").addEventListener("change", () => { scale(), panes.repaint(); });
element("marks").addEventListener("change", () => panes.set({ marks: element("marks").checked }));
document.querySelector("form").addEventListener("submit", event => event.preventDefault());
scale();
panes.show({ bytes, names: ["text"], range: () => [set] });
after();
