// A text in the tokens of one tokenizer or several, side by side: only the blocks in sight are painted.
const margin = 300;

class Panes {
  // `source` has bytes, names and range(from, to): a TokenSet for each name, or null until they have come. `heads` are
  // over the columns, and move sideways as these do.
  constructor(frame, { readout, heads = null, chosen = () => {}, pointed = () => {} }) {
    Object.assign(this, { frame, readout, heads, chosen, pointed, hint: readout.textContent });
    this.options = { marks: true, ids: false, limit: [] }, this.source = null, this.starts = [], this.blocks = [];
    this.at = null, this.met = [], this.due = false;
    frame.tabIndex = 0;
    frame.classList.add("panes");
    this.room = document.createElement("div"), this.room.className = "room";
    frame.replaceChildren(this.room);
    frame.addEventListener("scroll", () => {
      if (heads) heads.scrollLeft = frame.scrollLeft;
      this.later();
    }, { passive: true });
    frame.addEventListener("pointermove", event => this.point(tokenAt(event.target)));
    frame.addEventListener("click", event => {
      const found = tokenAt(event.target);
      if (found) this.point(found), this.chosen(found[0].set, found[2]);
    });
    frame.addEventListener("keydown", event => this.key(event));
    new ResizeObserver(() => this.isAsWide() ? this.later() : this.measure()).observe(frame);
  }

  // Show another text, or the same by other tokenizers; blocks in sight are painted at once. `change` is where it is
  // not as the text before: [byte, bytes removed, bytes put there].
  show(source, change = null) {
    const starts = change ? blocksAfter(this.starts, source.bytes, change) : blocksOf(source.bytes), n = starts.length;
    if (change) this.move(lastUpTo(this.starts, change[0]) + 1, n - this.starts.length);
    this.source = source, this.starts = starts;
    while (this.blocks.length > n) this.blocks.pop().remove();
    while (this.blocks.length < n) {
      const block = document.createElement("div");
      block.className = "block";
      this.blocks.push(block), this.room.append(block);
    }
    for (const each of [this.room, this.heads]) if (each) each.style.setProperty("--columns", source.names.length || 1);
    this.leave();
    this.measure();
  }

  // Take blocks out at the place of a change, or put them there, so that the others keep what is painted in them.
  move(at, n) {
    for (const block of this.blocks.splice(at, Math.max(0, -n))) block.remove();
    for (let k = 0; k < n; k++) {
      const block = document.createElement("div");
      block.className = "block";
      this.room.insertBefore(block, this.blocks[at] || null), this.blocks.splice(at, 0, block);
    }
  }

  end(i) { return i + 1 < this.starts.length ? this.starts[i + 1] : this.source.bytes.length; }

  isAsWide() { return this.source && this.wide === this.frame.clientWidth; }

  // Guess the heights of blocks that were never painted, by their bytes and lines.
  measure() {
    if (!this.source) return;
    this.wide = this.frame.clientWidth;
    this.perLine = Math.max(10, Math.floor(this.wide / Math.max(1, this.source.names.length) / 9));
    for (const block of this.blocks) block.stale = true;
    for (let i = 0; i < this.blocks.length; i++) if (!this.blocks[i].painted) this.guess(i);
    this.paint();
  }

  guess(i) {
    const block = this.blocks[i], n = this.end(i) - this.starts[i];
    if (block.bytes === n && block.perLine === this.perLine) return;
    block.bytes = n, block.perLine = this.perLine;
    this.lift(block, Math.ceil(n / this.perLine) * 24);
  }

  // Give a block a height, or with 0 that of what is in it.
  lift(block, high) {
    if (block.high === high) return;
    block.high = high, block.style.height = high ? high + "px" : "";
  }

  set(options) { Object.assign(this.options, options), this.repaint(); }

  repaint() {
    for (const block of this.blocks) block.stale = true;
    this.later();
  }

  later() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => { this.due = false, this.paint(); });
  }

  // The numbers of the first and the last block in sight.
  seen() {
    const top = this.frame.scrollTop - margin, bottom = this.frame.scrollTop + this.frame.clientHeight + margin;
    let low = 0, high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1, block = this.blocks[middle];
      if (block.offsetTop + block.offsetHeight < top) low = middle + 1; else high = middle;
    }
    let last = low;
    while (last + 1 < this.blocks.length && this.blocks[last + 1].offsetTop < bottom) last++;
    return [low, last];
  }

  // Paint what is in sight and not painted, and empty what is out of sight.
  paint() {
    if (!this.source || !this.blocks.length) return;
    const [first, last] = this.seen(), wanted = [], out = [];
    for (let i = first; i <= last; i++) if (this.blocks[i].stale || !this.blocks[i].painted) wanted.push(i);
    for (let i = 0; i < this.blocks.length; i++) {
      const block = this.blocks[i];
      if (block.painted && (i < first - 2 || i > last + 2)) out.push([block, block.offsetHeight]);
    }
    for (const [block, high] of out) {
      block.painted = false, block.bytes = block.length, block.perLine = this.perLine;
      this.lift(block, high);
      block.replaceChildren();
    }
    if (!wanted.length) return;
    const sets = this.source.range(this.starts[wanted[0]], this.end(wanted[wanted.length - 1]));
    for (const i of wanted) this.fill(i, sets);
    // What is painted may be lower than it was guessed: then there is more in sight.
    if (sets) this.later();
  }

  // A block without tokens yet is its text alone; side by side, each line of the text is a row.
  fill(i, sets) {
    const block = this.blocks[i], bytes = this.source.bytes, from = this.starts[i], to = this.end(i);
    if (!sets) {
      if (!block.painted) block.textContent = toRead(textOf(bytes, from, to), this.options.marks), block.stale = true;
      block.painted = true, block.length = to - from;
      return this.lift(block, 0);
    }
    const ends = sets.length > 1 ? linesIn(bytes, from, to) : [to], rows = this.rowsOf(block, ends.length, sets.length);
    let a = from;
    ends.forEach((b, r) => {
      const compared = sets.length > 1 ? sets.map(set => set.error ? null : spansWithin(bytes, set, a, b)) : [];
      sets.forEach((set, s) => {
        const others = (s ? compared.slice(0, 1) : compared.slice(1)).filter(keys => keys);
        const options = { ...this.options, limit: this.options.limit[s], others };
        if (set.error) replaceNodes(rows[r].children[s], [], []);
        else paintTokens(rows[r].children[s], bytes, set, a, b, options);
      });
      a = b;
    });
    block.painted = true, block.stale = false, block.length = to - from;
    this.lift(block, 0);
  }

  // The rows of a block, of so many cells: those that are there, or new ones.
  rowsOf(block, n, width) {
    const there = block.children;
    if (there.length === n && there[0].childElementCount === width) return there;
    const rows = Array.from({ length: n }, () => {
      const row = document.createElement("div");
      row.className = "row";
      for (let s = 0; s < width; s++) {
        const cell = document.createElement("div");
        cell.className = "cell", cell.dir = "auto", cell.number = s;
        row.append(cell);
      }
      return row;
    });
    block.replaceChildren(...rows);
    return rows;
  }

  point(found) {
    const node = found ? found[1] : null;
    if (this.at && this.at[1] === node) return;
    if (this.at) this.at[1].classList.remove("at");
    for (const other of this.met) other.classList.remove("met");
    this.at = found, this.met = found ? this.beside(found) : [];
    if (!found) return;
    node.classList.add("at");
    for (const other of this.met) other.classList.add("met");
    this.readout.replaceChildren(...written(describe(this.source.bytes, found[0].set, found[2])));
    this.pointed(found[0].set, found[2]);
  }

  // The tokens of the other columns that share text with a token.
  beside([cell, , number]) {
    const k = number - cell.set.first, start = cell.set.starts[k], end = cell.set.ends[k];
    return Array.from(cell.parentNode.children).filter(each => each !== cell).flatMap(({ set, first, children }) =>
      Array.from(children).filter((_, i) => {
        const j = first + i - set.first;
        return set.starts[j] < end && start < set.ends[j];
      }));
  }

  // Point at no token; what was said of one does not hold for another text.
  leave() {
    if (this.at) this.readout.textContent = this.hint;
    this.point(null);
  }

  // Arrows move from token to token and from line to line, Enter chooses.
  key(event) {
    if (event.key === "Enter" && this.at) return event.preventDefault(), this.chosen(this.at[0].set, this.at[2]);
    if (event.key === "Escape") return this.leave();
    const by = event.ctrlKey || event.altKey || event.metaKey ? null : arrow(event);
    if (!by) return;
    const from = this.at && this.at[1].isConnected ? this.at[1] : null;
    const next = from ? by[0] ? this.beyond(from, by[0]) : this.along(from, by[1]) : this.firstSeen();
    if (!next) return;
    this.point(tokenAt(next));
    next.scrollIntoView({ block: "nearest" });
    this.paint();
  }

  firstSeen() {
    const top = this.frame.getBoundingClientRect().top;
    return Array.from(this.room.querySelectorAll(".cell > span")).find(s => s.getBoundingClientRect().bottom > top);
  }

  cells(number) { return Array.from(this.room.querySelectorAll(".cell")).filter(cell => cell.number === number); }

  // The token before or after, in this column.
  along(node, by) {
    const next = by > 0 ? node.nextElementSibling : node.previousElementSibling;
    if (next) return next;
    const cells = this.cells(node.parentNode.number).filter(cell => cell.childElementCount);
    const cell = cells[cells.indexOf(node.parentNode) + by];
    return cell && (by > 0 ? cell.firstElementChild : cell.lastElementChild);
  }

  // The nearest token of the next line, up or down.
  beyond(node, by) {
    const box = node.getBoundingClientRect(), x = (box.left + box.right) / 2;
    let best = null, least = Infinity;
    for (const cell of this.cells(node.parentNode.number)) {
      for (const other of cell.children) {
        const b = other.getBoundingClientRect(), down = by > 0 ? b.top - box.top : box.top - b.top;
        if (down < 8) continue;
        const far = down * 1000 + Math.abs((b.left + b.right) / 2 - x);
        if (far < least) least = far, best = other;
      }
    }
    return best;
  }

  // Bring a byte of the text into sight, where it is not.
  reveal(byte) {
    const block = this.blocks[Math.max(0, lastUpTo(this.starts, byte))];
    if (!block) return;
    const top = block.offsetTop - this.frame.scrollTop;
    if (top + block.offsetHeight < 0 || top > this.frame.clientHeight) this.frame.scrollTop = block.offsetTop - 40;
  }
}

function linesIn(bytes, from, to) {
  const ends = [];
  for (let at = from; at < to; at = ends[ends.length - 1]) {
    const end = bytes.indexOf(10, at) + 1;
    ends.push(end && end < to ? end : to);
  }
  return ends.length ? ends : [to];
}
