// Says why a token is what it is, from what the server knows of the model.
const perCharacter = 58, perRow = 26;

class Why {
  constructor(server, say) {
    this.server = server, this.say = say, this.timer = 0;
    const again = () => { clearTimeout(this.timer), this.timer = setTimeout(() => this.ask(), 150); };
    element("asking").addEventListener("submit", event => { event.preventDefault(), this.ask(); });
    for (const id of ["word", "by"]) element(id).addEventListener("input", again);
    element("temperature").addEventListener("input", () => this.show());
    element("draw").addEventListener("click", () => this.show());
    element("close").addEventListener("click", () => { element("why").hidden = true, element("panes").focus(); });
    element("why").addEventListener("keydown", event => { if (event.key === "Escape") element("close").click(); });
  }

  names(all, chosen) {
    element("by").replaceChildren(...all.map(name => new Option(shown(name), name, false, name === chosen)));
  }

  async ask(word) {
    if (word !== undefined) element("word").value = word;
    if (element("why").hidden || word !== undefined) element("reasons").replaceChildren("\u2026");
    element("why").hidden = false;
    const body = JSON.stringify({ tokenizer: element("by").value, word: element("word").value.toWellFormed() });
    try {
      this.made = await this.server.ask("/api/why", "", body);
      this.show();
      if (word !== undefined) element("why").scrollIntoView({ block: "nearest" });
    } catch (error) { if (error instanceof Refused) this.say(error.message); }
  }

  show() {
    const t = temperature();
    element("heat").hidden = element("draw").hidden = this.made.kind !== "unigram";
    element("degrees").textContent = t.toPrecision(2) + " (alpha " + (1 / t).toPrecision(2) + ")";
    element("reasons").replaceChildren(...reasonsOf(this.made));
  }
}

// The parts of a lattice by the sampling temperature, which the page computes itself: moving the slider asks nobody.
function temperature() { return 10 ** Number(element("temperature").value); }

function piece(text) { return make("span", "piece", shown(text)); }

function reasonsOf(made) {
  const parts = [make("h2", "", "Stages of " + made.model), ...made.stages.map(stageOf)];
  const draw = { bpe: mergesOf, unigram: pathsOf, wordpiece: matchesOf }[made.kind];
  const titles = { bpe: "Merges, the least rank first", unigram: "The best ways to cut", wordpiece: "Longest matches" };
  if (draw) parts.push(make("h2", "", titles[made.kind]), ...made.words.map(draw));
  const tokens = made.tokens.map(([text, id]) => make("span", "piece", shown(text), make("small", "", " " + id)));
  parts.push(make("h2", "", "Tokens"), make("p", "", ...tokens));
  if (!draw) parts.splice(-2, 0, make("p", "", "This model looks each pretoken up in its vocabulary."));
  return parts;
}

// A stage: the text after it with what it changed, and where it cut.
function stageOf({ name, pieces, changes }) {
  const marked = changes.map(([sign, text]) => make({ "=": "code", "+": "ins", "-": "del" }[sign], "", shown(text)));
  const line = make("div", "stage", make("b", "", name), ...marked);
  if (pieces.length > 1) line.append(" \u2192 ", ...pieces.map(piece));
  return line;
}

// The merges of a word as trees, and a slider that undoes and redoes them.
function mergesOf({ symbols, steps, trees }) {
  const nodes = [], row = make("div", "scrolls"), said = document.createElement("output");
  row.append(make("div", "trees", ...trees.map(tree => treeOf(tree, nodes))));
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
  const go = (name, by) => buttonOf(name, () => { slider.value = Number(slider.value) + by, show(); });
  slider.addEventListener("input", show);
  show();
  return make("div", "", row, make("div", "steps", go("Back", -1), slider, go("Forward", 1), said));
}

function treeOf(tree, nodes) {
  const node = make("div", "node", piece(tree.text));
  if (!tree.parts) return node;
  nodes.push([node, tree.step]);
  node.append(make("small", "", "#" + (tree.step + 1) + " rank " + tree.rank));
  node.append(make("div", "kids", ...tree.parts.map(each => treeOf(each, nodes))));
  return node;
}

// The lattice of pieces with their chances, the best path in colour, a table of the best paths, some that are drawn.
function pathsOf({ pieces, best, n }) {
  const t = temperature(), sums = new Sums(pieces, n, t);
  const drawn = make("div", "lattice"), rows = [], chosen = new Set(best.length ? best[0].pieces : []);
  pieces.forEach(({ start, end, text, score }, k) => {
    let r = chosen.has(k) ? 0 : 1;
    while (rows[r] && rows[r].some(([a, b]) => a < end && start < b)) r++;
    (rows[r] ||= []).push([start, end]);
    const chance = sums.chance(k), node = make("span", chosen.has(k) ? "best" : "", shown(text));
    node.style.left = start * perCharacter + "px", node.style.top = r * perRow + "px";
    node.style.width = (end - start) * perCharacter - 4 + "px";
    node.style.setProperty("--chance", 100 * chance + "%");
    node.title = shown(text) + ": score " + score + ", in " + percentOf(chance) + " of what is drawn";
    node.append(make("small", "", " " + (chance < .0005 ? "\u2248 0" : percentOf(chance))));
    drawn.append(node);
  });
  drawn.style.width = n * perCharacter + "px", drawn.style.height = rows.length * perRow + "px";
  const titles = ["cut", "score", "chance", ""].map(text => make("th", "", text));
  const table = make("table", "paths", make("tr", "", ...titles));
  for (const path of best) {
    const bar = make("span", "bar"), chance = sums.ofPath(path.pieces);
    bar.style.width = Math.max(1, Math.round(chance * 160)) + "px";
    const cut = make("td", "", ...path.pieces.map(k => piece(pieces[k].text)));
    const cells = [path.score.toFixed(3), percentOf(chance), bar].map(each => make("td", "", each));
    table.append(make("tr", "", cut, ...cells));
  }
  const some = Array.from({ length: 5 }, () => make("div", "stage", ...sums.draw().map(k => piece(pieces[k].text))));
  return make("div", "", make("div", "scrolls", drawn), make("div", "scrolls", table),
    make("h2", "", "Drawn at this temperature"), ...some);
}

function percentOf(part) { return part > .9995 ? "100 %" : (100 * part).toPrecision(part < .0001 ? 1 : 3) + " %"; }

// Sums over all ways through a lattice, forwards and backwards, at a temperature: chances of pieces, and draws.
class Sums {
  constructor(pieces, n, t) {
    this.pieces = pieces, this.t = t, this.n = n;
    this.to = new Array(n + 1).fill(-Infinity), this.from = new Array(n + 1).fill(-Infinity);
    this.ending = Array.from({ length: n + 1 }, () => []);
    this.to[0] = this.from[n] = 0;
    pieces.forEach((each, k) => this.ending[each.end].push(k));
    for (let at = 1; at <= n; at++) {
      this.to[at] = logSum(this.ending[at].map(k => this.to[pieces[k].start] + pieces[k].score / t));
    }
    for (let at = n; at > 0; at--) {
      for (const k of this.ending[at]) {
        const { start, score } = pieces[k];
        this.from[start] = logSum([this.from[start], this.from[at] + score / t]);
      }
    }
  }

  chance(k) {
    const { start, end, score } = this.pieces[k];
    return Math.min(1, Math.exp(this.to[start] + score / this.t + this.from[end] - this.to[this.n]));
  }

  ofPath(path) {
    return Math.exp(path.reduce((sum, k) => sum + this.pieces[k].score, 0) / this.t - this.to[this.n]);
  }

  // A way by its chance, found from the end.
  draw() {
    const path = [];
    for (let at = this.n; at > 0; at = this.pieces[path[0]].start) {
      let left = Math.random(), last = -1;
      for (const k of this.ending[at]) {
        const { start, score } = this.pieces[k];
        left -= Math.exp(this.to[start] + score / this.t - this.to[at]), last = k;
        if (left < 0) break;
      }
      path.unshift(last);
    }
    return path;
  }
}

function logSum(values) {
  const top = Math.max(...values);
  return top === -Infinity ? top : top + Math.log(values.reduce((sum, each) => sum + Math.exp(each - top), 0));
}

function matchesOf({ text, rounds, unknown }) {
  const lines = rounds.map(({ tried, found }) => {
    const missed = found ? tried.slice(0, -1) : tried;
    const line = make("div", "stage scrolls", ...missed.slice(-12).map(each => make("code", "tried", shown(each))));
    if (missed.length > 12) line.prepend(missed.length - 12 + " longer ones \u2026 ");
    line.append(found ? piece(tried[tried.length - 1]) : "no match");
    return line;
  });
  if (unknown) lines.push(make("div", "stage", shown(text) + " is one ", piece(unknown)));
  return make("div", "", ...lines);
}
