// Says why a token is what it is, from what the server knows of the model.
const perCharacter = 58, perRow = 26;

class Why {
  constructor(server, say) {
    this.server = server, this.say = say, this.timer = 0;
    const again = () => { clearTimeout(this.timer), this.timer = setTimeout(() => this.ask(), 150); };
    element("asking").addEventListener("submit", event => { event.preventDefault(), this.ask(); });
    for (const id of ["word", "by", "temperature"]) element(id).addEventListener("input", again);
    element("close").addEventListener("click", () => { element("why").hidden = true, element("panes").focus(); });
    element("why").addEventListener("keydown", event => { if (event.key === "Escape") element("close").click(); });
  }

  names(all, chosen) {
    element("by").replaceChildren(...all.map(name => new Option(shown(name), name, false, name === chosen)));
  }

  async ask(word) {
    if (word !== undefined) element("word").value = word;
    const temperature = 10 ** Number(element("temperature").value);
    element("degrees").textContent = temperature.toPrecision(2);
    if (element("why").hidden || word !== undefined) element("reasons").replaceChildren("\u2026");
    element("why").hidden = false;
    const body = JSON.stringify({
      tokenizer: element("by").value, word: element("word").value.toWellFormed(), temperature,
    });
    try {
      const made = await this.server.ask("/api/why", "", body);
      element("heat").hidden = made.kind !== "unigram";
      element("reasons").replaceChildren(...reasonsOf(made));
      if (word !== undefined) element("why").scrollIntoView({ block: "nearest" });
    } catch (error) { if (error instanceof Refused) this.say(error.message); }
  }
}

function part(kind, classes, ...content) {
  const made = document.createElement(kind);
  if (classes) made.className = classes;
  made.append(...content);
  return made;
}

function piece(text) { return part("span", "piece", shown(text)); }

function reasonsOf(made) {
  const parts = [part("h2", "", "Stages of " + made.model), ...made.stages.map(stageOf)];
  const draw = { bpe: mergesOf, unigram: pathsOf, wordpiece: matchesOf }[made.kind];
  const titles = { bpe: "Merges, the least rank first", unigram: "The best ways to cut", wordpiece: "Longest matches" };
  if (draw) parts.push(part("h2", "", titles[made.kind]), ...made.words.map(draw));
  const tokens = made.tokens.map(([text, id]) => part("span", "piece", shown(text), part("small", "", " " + id)));
  parts.push(part("h2", "", "Tokens"), part("p", "", ...tokens));
  if (!draw) parts.splice(-2, 0, part("p", "", "This model looks each pretoken up in its vocabulary."));
  return parts;
}

// A stage: the text after it with what it changed, and where it cut.
function stageOf({ name, pieces, changes }) {
  const marked = changes.map(([sign, text]) => part({ "=": "code", "+": "ins", "-": "del" }[sign], "", shown(text)));
  const line = part("div", "stage", part("b", "", name), ...marked);
  if (pieces.length > 1) line.append(" \u2192 ", ...pieces.map(piece));
  return line;
}

// The merges of a word as trees, and a slider that undoes and redoes them.
function mergesOf({ symbols, steps, trees }) {
  const nodes = [], row = part("div", "scrolls"), said = document.createElement("output");
  row.append(part("div", "trees", ...trees.map(tree => treeOf(tree, nodes))));
  if (!steps.length) return row;
  const slider = document.createElement("input");
  slider.type = "range", slider.min = 0, slider.max = slider.value = steps.length;
  slider.setAttribute("aria-label", "Merges done");
  const show = () => {
    const n = Number(slider.value), step = steps[n - 1];
    for (const [node, k] of nodes) node.classList.toggle("later", k >= n), node.classList.toggle("now", k === n - 1);
    said.textContent = n + " of " + steps.length + (step ? ": " + shown(step.left) + " + " + shown(step.right)
      + ", rank " + step.rank : "") + "  \u2192  " + (step ? step.symbols : symbols).map(shown).join(" | ");
  };
  const go = (name, by) => {
    const button = part("button", "", name);
    button.type = "button";
    button.addEventListener("click", () => { slider.value = Number(slider.value) + by, show(); });
    return button;
  };
  slider.addEventListener("input", show);
  show();
  return part("div", "", row, part("div", "steps", go("Back", -1), slider, go("Forward", 1), said));
}

function treeOf(tree, nodes) {
  const node = part("div", "node", piece(tree.text));
  if (!tree.parts) return node;
  nodes.push([node, tree.step]);
  node.append(part("small", "", "#" + (tree.step + 1) + " rank " + tree.rank));
  node.append(part("div", "kids", ...tree.parts.map(each => treeOf(each, nodes))));
  return node;
}

// The lattice of pieces, the best path in colour, and a table of the best paths.
function pathsOf({ pieces, best, n }) {
  const drawn = part("div", "lattice"), rows = [], chosen = new Set(best.length ? best[0].pieces : []);
  pieces.forEach(({ start, end, text, score }, k) => {
    let r = chosen.has(k) ? 0 : 1;
    while (rows[r] && rows[r].some(([a, b]) => a < end && start < b)) r++;
    (rows[r] ||= []).push([start, end]);
    const node = part("span", chosen.has(k) ? "best" : "", shown(text) + " " + score.toFixed(1));
    node.style.left = start * perCharacter + "px", node.style.top = r * perRow + "px";
    node.style.width = (end - start) * perCharacter - 4 + "px", node.title = shown(text) + " " + score;
    drawn.append(node);
  });
  drawn.style.width = n * perCharacter + "px", drawn.style.height = rows.length * perRow + "px";
  const titles = ["cut", "score", "chance", ""].map(text => part("th", "", text));
  const table = part("table", "paths", part("tr", "", ...titles));
  for (const path of best) {
    const bar = part("span", "bar");
    bar.style.width = Math.max(1, Math.round(path.chance * 160)) + "px";
    const cut = part("td", "", ...path.pieces.map(k => piece(pieces[k].text)));
    const chance = (100 * path.chance).toPrecision(3) + " %";
    table.append(part("tr", "", cut, ...[path.score.toFixed(3), chance, bar].map(each => part("td", "", each))));
  }
  return part("div", "", part("div", "scrolls", drawn), part("div", "scrolls", table));
}

function matchesOf({ text, rounds, unknown }) {
  const lines = rounds.map(({ tried, found }) => {
    const missed = found ? tried.slice(0, -1) : tried;
    const line = part("div", "stage scrolls", ...missed.slice(-12).map(each => part("code", "tried", shown(each))));
    if (missed.length > 12) line.prepend(missed.length - 12 + " longer ones \u2026 ");
    line.append(found ? piece(tried[tried.length - 1]) : "no match");
    return line;
  });
  if (unknown) lines.push(part("div", "stage", shown(text) + " is one ", piece(unknown)));
  return part("div", "", ...lines);
}
