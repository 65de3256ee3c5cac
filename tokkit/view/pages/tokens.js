// Tokens in colours: spans of text in a cell, each of another colour than the one before it.
const maxMerges = 6, hues = 6, markup = /[&<>"]/g;

// Tokens from number `first` on: ids, starts and ends in bytes; `tokens` has what there is to say of an id. `toneOf`
// gives the class of a token that has a colour of its own, `parts` the [rank, left, right] of a token that is merged.
class TokenSet {
  constructor({ name, n, first = 0, ids, starts, ends, tokens, parts = {}, toneOf = null }) {
    Object.assign(this, { name, n, first, ids, starts, ends, tokens, parts, toneOf });
  }

  // Of a standalone page: columns are bytes in base64.
  static of({ name, n, ids, starts, ends, tokens, parts }) {
    const column = text => new Uint32Array(numbers(text).buffer);
    return new TokenSet({ name, n, ids: column(ids), starts: column(starts), ends: column(ends), tokens, parts });
  }

  get length() { return this.ids.length; }

  // The merges that made a token of this id, each after those of its parts: "lo + w (rank 1)".
  merges(id) {
    if (!this.parts[id]) return [];
    const [rank, left, right] = this.parts[id], called = each => named(this.tokens[each][0]);
    return [...this.merges(left), ...this.merges(right), called(left) + " + " + called(right) + " (rank " + rank + ")"];
  }

  // The name of token k as its vocabulary has it.
  called(k) {
    const token = this.tokens[this.ids[k]];
    return token ? named(token[0]) : "#" + this.ids[k];
  }
}

function isSpace(byte) { return byte === 32 || byte > 8 && byte < 14; }

// The span of token k without white space at its ends as one number, by which tokens are compared; 0 for white space.
function spanOf(bytes, set, k) {
  let start = set.starts[k], end = set.ends[k];
  while (start < end && isSpace(bytes[start])) start++;
  while (start < end && isSpace(bytes[end - 1])) end--;
  return start < end ? start * 0x4000000 + end : 0;
}

// The spans of the tokens that begin from byte `from` on and before `to`.
function spansWithin(bytes, set, from, to) {
  const keys = new Set([0]);
  for (let k = lastUpTo(set.starts, from - 1) + 1; k < set.length && set.starts[k] < to; k++) {
    keys.add(spanOf(bytes, set, k));
  }
  return keys;
}

function isAlone(key, others) { return others.some(keys => !keys.has(key)); }

// Write the tokens that begin in a part of the text into a cell, or with `areIds` their ids; those that are not tokens
// of `others` are marked.
function paintTokens(cell, bytes, set, from, to, { marks, ids: areIds = false, others = [], limit = Infinity }) {
  const { ids, starts, ends, tokens, first } = set, texts = [], kinds = [];
  const isEnd = to >= bytes.length, read = readerOf(bytes, from, to);
  const between = raw => {
    const text = areIds ? "" : toRead(raw, marks);
    if (text) texts.push(text), kinds.push(null);
  };
  let k = lastUpTo(starts, from - 1) + 1, at = k ? Math.max(from, ends[k - 1]) : from;
  cell.first = first + k, cell.set = set;
  for (; k < ids.length && (starts[k] < to || isEnd); k++) {
    const start = starts[k], end = ends[k], token = tokens[ids[k]];
    if (start > at) between(read(at, start));
    let kind = start === end ? " bare" : "";
    if (token && token[2]) kind += " special";
    if (others.length && isAlone(spanOf(bytes, set, k), others)) kind += " differs";
    if (first + k >= limit) kind += " beyond";
    if (set.toneOf) kind += " " + set.toneOf(k);
    const isBare = start === end;
    texts.push(areIds ? ids[k] + " " : isBare ? set.called(k) : toRead(read(start, end), marks)), kinds.push(kind);
    at = Math.max(at, end);
  }
  if (at < to) between(read(at, to));
  replaceNodes(cell, texts, kinds);
}

// Make spans of texts, and bare text where the kind is null; nodes that stay as they were, at both ends, are kept.
function replaceNodes(cell, texts, kinds) {
  const old = cell.texts || [], olds = cell.kinds, n = texts.length, m = old.length, least = Math.min(m, n);
  let head = 0, tail = 0;
  while (head < least && old[head] === texts[head] && olds[head] === kinds[head]) head++;
  const isSame = (i, k) => old[i] === texts[k] && olds[i] === kinds[k];
  while (tail < least - head && isSame(m - 1 - tail, n - 1 - tail)) tail++;
  if (head === n && n === m) return;
  const colours = head ? cell.colours.slice(0, head) : [];
  let html = "", last = head ? colours[head - 1] : hues - 1;
  for (let i = head; i < n - tail; i++) {
    const text = texts[i].replace(markup, character => references[character]);
    if (kinds[i] !== null) last = (last + 1) % hues;
    colours.push(last);
    html += kinds[i] === null ? text : "<span class='" + classOf(last, kinds[i]) + "'>" + text + "<\/span>";
  }
  // Many nodes are made fastest as HTML. The texts cannot act: nothing of them is markup, and classes are of here.
  if (!head && !tail) cell.innerHTML = html;
  else {
    for (let k = m - head - tail; k > 0; k--) cell.childNodes[head].remove();
    const room = document.createElement("div"), nodes = document.createDocumentFragment();
    room.innerHTML = html;
    nodes.append(...room.childNodes);
    cell.insertBefore(nodes, cell.childNodes[head] || null);
    for (let k = m - tail; k < m; k++) colours.push(cell.colours[k]);
    recolour(cell, colours, kinds, n - tail);
  }
  cell.texts = texts, cell.kinds = kinds, cell.colours = colours;
}

const references = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;" };

function classOf(colour, kind) { return "c" + (colour + 1) + kind; }

// Give the first token from number `i` on another colour than both of its neighbours have.
function recolour(cell, colours, kinds, i) {
  while (i < kinds.length && kinds[i] === null) i++;
  if (!i || i >= kinds.length || colours[i] !== colours[i - 1]) return;
  do colours[i] = (colours[i] + 1) % hues; while (colours[i] === colours[i - 1] || colours[i] === colours[i + 1]);
  cell.childNodes[i].className = classOf(colours[i], kinds[i]);
}

// The token at which an event happened: [cell, span, number of the token], or null.
function tokenAt(target) {
  const node = target instanceof Element ? target.closest(".cell > span") : null;
  if (!node) return null;
  let k = 0;
  for (let other = node.previousElementSibling; other; other = other.previousElementSibling) k++;
  return [node.parentNode, node, node.parentNode.first + k];
}

// What there is to say of a token as [name, value], without a name where the value says what it is: its number, text,
// id, bytes, offsets, score or rank, and merges.
function describe(bytes, set, number) {
  const k = number - set.first, id = set.ids[k], start = set.starts[k], end = set.ends[k], token = set.tokens[id];
  const text = start < end ? shown(toRead(textOf(bytes, start, end), true).replace(/\n/g, "")) : set.called(k);
  const facts = [["token", (number + 1).toLocaleString("en")], ["", "\u201c" + text + "\u201d"], ["id", id]];
  if (start < end) facts.push(["bytes", hexOf(bytes.subarray(start, end))], ["at", start + "\u2013" + end]);
  else facts.push(["", "no text of its own"]);
  if (token && set.called(k) !== text) facts.push(["in the vocabulary", "\u201c" + set.called(k) + "\u201d"]);
  if (token && token[1] !== null) facts.push(["score", token[1]]);
  if (token && token[2]) facts.push(["", "special"]);
  const merges = set.merges(id), last = merges.slice(-maxMerges).join(", ");
  if (set.parts[id]) {
    facts.push(["rank", set.parts[id][0]], ["merges", (merges.length > maxMerges ? "\u2026 " : "") + last]);
  }
  return facts;
}

// Facts to be read in a row: names are quiet, values are not.
function written(facts) {
  return facts.flatMap(([name, value]) => {
    const label = name ? [make("i", "", name), " "] : [];
    return [make("span", "fact", ...label, value), " "];
  });
}
