// A training to watch: step by step, forwards and backwards, by hand or by itself.
const data = pageData(), rounds = data.rounds, n = rounds ? rounds.length - 1 : data.merges.length;
const slider = element("step"), canvas = element("curve"), pen = canvas.getContext("2d"), list = element("list");
const room = element("text"), maxListed = 14;
let at = 0, timer = 0, sizes = [];

// The tokens of a word, in hexadecimal, after so many merges, and which of them the last one made.
function wordAt({ symbols, steps }, merges) {
  const made = symbols.slice();
  const fresh = new Set();
  for (const [rank, place] of steps) {
    if (rank >= merges) break;
    made.splice(place, 2, made[place] + made[place + 1]);
    if (rank === merges - 1) fresh.add(place);
  }
  return [made, fresh];
}

// The tokens of a word by longest matches after so many merges: the last cut that is not later.
function matchedAt({ cuts }, merges) {
  let last = cuts[0];
  for (const cut of cuts) if (cut[0] <= merges) last = cut;
  return [last[1], new Set(last[0] === merges ? last[2] : [])];
}

function tokensAt(k) {
  if (rounds) return rounds[k].cut.map(token => [token, false]);
  return data.words.flatMap(word => {
    const [made, fresh] = (word.cuts ? matchedAt : wordAt)(word, k);
    return made.map((token, i) => [token, fresh.has(i), word.cuts && !i]);
  });
}

// How many tokens the text has after each step.
function counts() {
  if (rounds) return rounds.map(round => round.cut.length);
  const gone = new Array(n + 1).fill(0);
  let all = 0;
  for (const { symbols, steps, cuts } of data.words) {
    if (cuts) {
      all += cuts[0][1].length;
      for (let i = 1; i < cuts.length; i++) gone[cuts[i][0]] += cuts[i - 1][1].length - cuts[i][1].length;
      continue;
    }
    all += symbols.length;
    for (const [rank] of steps) if (rank < n) gone[rank + 1]++;
  }
  return gone.map(k => all -= k);
}

function curve() {
  const wide = element("plot").clientWidth, high = element("plot").clientHeight;
  const top = sizes.reduce((a, b) => Math.max(a, b), 1);
  fit(canvas, pen, wide, high);
  pen.fillStyle = colour("--quiet"), pen.font = "12px system-ui, sans-serif", pen.textAlign = "right";
  const left = pen.measureText(top.toLocaleString("en")).width + 12;
  const x = k => left + (wide - left - 6) * k / (n || 1), y = size => high - 8 - (high - 16) * size / top;
  for (const size of [0, top]) pen.fillText(size.toLocaleString("en"), left - 6, y(size) + 4);
  pen.strokeStyle = colour("--focus"), pen.lineWidth = 2;
  pen.beginPath();
  sizes.forEach((size, k) => pen.lineTo(x(k), y(size)));
  pen.stroke();
  pen.fillStyle = colour("--mark");
  pen.beginPath(), pen.arc(x(at), y(sizes[at]), 4, 0, 7), pen.fill();
  canvas.setAttribute("aria-label", "Tokens of the text: from " + sizes[0] + " to " + sizes[n] + ", now " + sizes[at]);
}

function row(text, more) { return make("li", "", text, make("small", "", " " + more)); }

// What was done up to this step: the last merges, or the pieces that the round removed.
function done() {
  if (rounds) {
    const { pruned, pieces, before } = rounds[at], more = before - pieces;
    element("latest").textContent = pruned.length ? "Removed before this round" : "Nothing was removed yet";
    list.start = 1;
    return pruned.slice(0, 3 * maxListed).map(piece => row(shown(piece), "")).concat(
      more > 0 && pruned.length ? [row("\u2026", "")] : []);
  }
  const from = Math.max(0, at - maxListed);
  element("latest").textContent = at ? "The last merges" : "No merge is done yet";
  list.start = from + 1;
  return data.merges.slice(from, at).map(([left, right, count, score]) => row(shown(left) + " + " + shown(right),
    count.toLocaleString("en") + "\u00d7" + (score === null ? "" : ", score " + score)));
}

function said() {
  const tokens = sizes[at].toLocaleString("en") + " tokens in the text";
  if (rounds) {
    const round = rounds[at], likelihood = (round.likelihood / (round.tokens || 1)).toFixed(3);
    return "Round " + (at + 1) + " of " + (n + 1) + ": " + round.pieces.toLocaleString("en") + " pieces, log-likelihood"
      + " per token of the corpus " + likelihood + ", " + tokens;
  }
  const merge = data.merges[at - 1];
  const what = merge ? ": " + shown(merge[0]) + " + " + shown(merge[1]) + ", " + merge[2] + " times" : "";
  const size = (data.n_tokens - n + at).toLocaleString("en");
  return "Merge " + at + " of " + n + what + "; " + size + " tokens in the vocabulary, " + tokens;
}

function show(k) {
  at = Math.max(0, Math.min(n, k)), slider.value = at;
  // Words of longest matches have no spaces of their own.
  const nodes = tokensAt(at).flatMap(([token, isNew, isApart], k) => {
    const node = make("span", "c" + (k % 6 + 1) + (isNew ? " new" : ""), toRead(textOfHex(token), true));
    return isApart ? [" ", node] : [node];
  });
  room.replaceChildren(...nodes);
  list.replaceChildren(...done());
  element("readout").textContent = said();
  element("back").disabled = !at, element("forward").disabled = at === n;
  curve();
}

function pauseOrPlay(isOn) {
  clearTimeout(timer), timer = 0;
  element("play").textContent = isOn ? "Pause" : "Play";
  if (!isOn) return;
  if (at === n) show(0);
  const next = () => {
    show(at + 1);
    if (at === n) return pauseOrPlay(false);
    timer = setTimeout(next, 1000 / 10 ** Number(element("speed").value));
  };
  timer = setTimeout(next, 0);
}

slider.max = n, sizes = counts();
slider.addEventListener("input", () => { pauseOrPlay(false), show(Number(slider.value)); });
element("play").addEventListener("click", () => pauseOrPlay(!timer));
element("back").addEventListener("click", () => { pauseOrPlay(false), show(at - 1); });
element("forward").addEventListener("click", () => { pauseOrPlay(false), show(at + 1); });
document.querySelector("form").addEventListener("submit", event => event.preventDefault());
addEventListener("resize", curve);
dark.addEventListener("change", curve);
show(0);
