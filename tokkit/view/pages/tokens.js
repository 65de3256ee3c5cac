// Tokens in colours: spans of text in a cell, of which a style makes one colour differ from the next.
const pattern = document.createElement("span");

// Tokens from number `first` on: ids, starts and ends in bytes; `tokens` has what there is to say of an id.
class TokenSet {
  constructor({ name, n, first = 0, ids, starts, ends, tokens }) {
    Object.assign(this, { name, n, first, ids, starts, ends, tokens });
  }

  // Of a standalone page: columns are bytes in base64.
  static of({ name, n, ids, starts, ends, tokens }) {
    const column = text => new Uint32Array(numbers(text).buffer);
    return new TokenSet({ name, n, ids: column(ids), starts: column(starts), ends: column(ends), tokens });
  }

  get length() { return this.ids.length; }

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

// Write the tokens that begin in a part of the text into a cell; those that do not begin in `others` are marked.
function paintTokens(cell, bytes, set, from, to, { marks, others = [], limit = Infinity }) {
  const { ids, starts, ends, tokens, first } = set, texts = [], kinds = [];
  const isEnd = to >= bytes.length, read = readerOf(bytes, from, to);
  let k = lastUpTo(starts, from - 1) + 1, at = k ? Math.max(from, ends[k - 1]) : from;
  cell.first = first + k, cell.set = set;
  for (; k < ids.length && (starts[k] < to || isEnd); k++) {
    const start = starts[k], end = ends[k], token = tokens[ids[k]];
    if (start > at) texts.push(toRead(read(at, start), marks)), kinds.push(null);
    let kind = start === end ? "bare" : "";
    if (token && token[2]) kind += " special";
    if (others.length && isAlone(spanOf(bytes, set, k), others)) kind += " differs";
    if (first + k >= limit) kind += " beyond";
    texts.push(start === end ? set.called(k) : toRead(read(start, end), marks)), kinds.push(kind);
    at = Math.max(at, end);
  }
  if (at < to) texts.push(toRead(read(at, to), marks)), kinds.push(null);
  replaceNodes(cell, texts, kinds);
}

// Make spans of texts, and bare text where the kind is null; nodes that stay as they were, at both ends, are kept.
function replaceNodes(cell, texts, kinds) {
  const old = cell.texts || [], olds = cell.kinds, least = Math.min(old.length, texts.length);
  let head = 0, tail = 0;
  while (head < least && old[head] === texts[head] && olds[head] === kinds[head]) head++;
  while (tail < least - head && old[old.length - 1 - tail] === texts[texts.length - 1 - tail]
    && olds[old.length - 1 - tail] === kinds[texts.length - 1 - tail]) tail++;
  const nodes = document.createDocumentFragment();
  for (let i = head; i < texts.length - tail; i++) {
    if (kinds[i] === null) {
      nodes.append(texts[i]);
      continue;
    }
    const node = pattern.cloneNode(false);
    node.textContent = texts[i];
    if (kinds[i]) node.className = kinds[i];
    nodes.appendChild(node);
  }
  cell.texts = texts, cell.kinds = kinds;
  if (!head && !tail) return cell.replaceChildren(nodes);
  for (let n = old.length - head - tail; n > 0; n--) cell.childNodes[head].remove();
  cell.insertBefore(nodes, cell.childNodes[head] || null);
}

// The token at which an event happened: [cell, span, number of the token], or null.
function tokenAt(target) {
  const node = target instanceof Element ? target.closest(".cell > span") : null;
  if (!node) return null;
  let k = 0;
  for (let other = node.previousElementSibling; other; other = other.previousElementSibling) k++;
  return [node.parentNode, node, node.parentNode.first + k];
}

// What there is to say of a token: its place among all, text, id, bytes, offsets and score.
function describe(bytes, set, number) {
  const k = number - set.first, id = set.ids[k], start = set.starts[k], end = set.ends[k], token = set.tokens[id];
  const text = start < end ? shown(toRead(textOf(bytes, start, end), true).replace(/\n/g, "")) : set.called(k);
  const said = ["token " + (number + 1).toLocaleString("en"), "\u201c" + text + "\u201d", "id " + id];
  if (start < end) said.push("bytes " + hexOf(bytes.subarray(start, end)), "at " + start + "\u2013" + end);
  else said.push("no text of its own");
  if (token && set.called(k) !== text) said.push("in the vocabulary \u201c" + set.called(k) + "\u201d");
  if (token && token[1] !== null) said.push("score " + token[1]);
  if (token && token[2]) said.push("special");
  return said.join("  \u00b7  ");
}
