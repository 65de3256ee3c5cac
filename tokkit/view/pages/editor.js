// An editor of long texts: the textarea holds the part that is near its sight, a bar beside it stands for the whole.
const maxWhole = 40000, minAround = 6000, maxBar = 4e6, maxLine = 2000, maxUndone = 500, wordPause = 1000;

class Editor {
  // `changed` is called after each change of the text; `watching` are told where its bytes change: see Touched.
  constructor(area, bar, changed) {
    Object.assign(this, { area, bar, changed, whole: "", bytes: new Uint8Array(0), part: "" });
    this.from = this.to = this.fromByte = this.barAt = 0, this.away = null, this.isAll = false;
    this.done = [], this.undone = [], this.watching = new Set();
    this.ruler = document.createElement("div"), this.ruler.className = "ruler", this.ruler.ariaHidden = "true";
    area.after(this.ruler), bar.append(document.createElement("div"));
    area.addEventListener("input", () => this.typed());
    area.addEventListener("beforeinput", event => this.before(event));
    area.addEventListener("keydown", event => this.key(event));
    area.addEventListener("scroll", () => this.scrolled(), { passive: true });
    area.addEventListener("pointerdown", () => { this.away = null, this.isAll = false; });
    for (const kind of ["copy", "cut"]) area.addEventListener(kind, event => this.copy(event));
    bar.addEventListener("scroll", () => this.pulled(), { passive: true });
    new ResizeObserver(() => this.follow()).observe(area);
  }

  get value() { return this.whole; }

  set value(given) {
    this.whole = given.replace(/\r\n?/g, "\n"), this.bytes = utf8Encoder.encode(this.whole);
    this.done = [], this.undone = [];
    for (const each of this.watching) each.all();
    this.show(0), this.area.scrollTop = 0;
  }

  get isFocused() { return document.activeElement === this.area; }

  get selectionStart() { return this.away ? this.away[0] : this.from + this.area.selectionStart; }

  // The byte before which the cursor is.
  get caretByte() { return this.byteAt(this.selectionStart); }

  byteAt(at) {
    if (at < this.from) return bytesOf(this.whole.slice(0, at));
    return this.fromByte + bytesOf(this.whole.slice(this.from, at));
  }

  focus() { this.area.focus({ preventScroll: true }); }

  // Select from one character to another, and bring the first into sight.
  setSelectionRange(start, end) {
    if (start < this.from || end > this.to) this.show(start, end);
    this.away = null;
    this.area.setSelectionRange(start - this.from, end - this.from);
    const at = this.heightOf(this.from, start), { scrollTop, clientHeight } = this.area;
    if (at < scrollTop || at > scrollTop + clientHeight - 40) this.area.scrollTop = Math.max(0, at - clientHeight / 2);
  }

  // Put the part around a character into the textarea, with all that `end` reaches.
  show(at, end = at) {
    const n = this.whole.length, around = this.around();
    if (n <= maxWhole) this.from = 0, this.to = n;
    else {
      this.from = this.lineBy(Math.max(0, at - around));
      this.to = this.lineBy(Math.min(n, end + around));
    }
    this.fromByte = bytesOf(this.whole.slice(0, this.from));
    this.part = this.area.value = this.whole.slice(this.from, this.to);
    this.bar.hidden = n <= maxWhole;
    this.area.classList.toggle("bare", n > maxWhole);
    this.follow();
  }

  around() { return Math.max(minAround, Math.round(this.area.clientWidth / 9 * this.area.clientHeight / 22 * 2.5)); }

  // The begin of the line that a character is in, if it is near; else a place between characters.
  lineBy(at) {
    if (!at || at === this.whole.length) return at;
    const line = this.whole.lastIndexOf("\n", at - 1) + 1;
    if (at - line < maxLine) return line;
    return isLow(this.whole, at) ? at - 1 : at;
  }

  // The height in pixels of the part between two characters, of which the first begins a line of the textarea.
  heightOf(start, end) {
    if (start === end) return 0;
    this.ruler.style.width = this.area.clientWidth + "px";
    this.ruler.textContent = this.whole.slice(start, end);
    const high = this.ruler.offsetHeight;
    this.ruler.textContent = "";
    return high;
  }

  // ---- changes

  typed() {
    const old = this.part, now = this.area.value, n = old.length, m = now.length, least = Math.min(n, m);
    let head = 0, tail = 0;
    while (head < least && old.charCodeAt(head) === now.charCodeAt(head)) head++;
    if (isLow(old, head) || isLow(now, head)) head--;
    while (tail < least - head && old.charCodeAt(n - 1 - tail) === now.charCodeAt(m - 1 - tail)) tail++;
    if (tail && (isLow(old, n - tail) || isLow(now, m - tail))) tail--;
    const removed = old.slice(head, n - tail), inserted = now.slice(head, m - tail);
    if (!removed && !inserted) return;
    const step = { at: this.from + head, removed, inserted, when: performance.now() };
    this.part = now, this.keep(step), this.apply(step);
    const isLarge = this.whole.length > maxWhole, caret = this.selectionStart;
    if (isLarge === this.bar.hidden || isLarge && m > 4 * this.around() + 2 * maxLine) {
      this.show(caret), this.setSelectionRange(caret, caret);
    }
    this.changed();
  }

  // Change the text and its bytes; the textarea has the change already.
  apply({ at, removed, inserted }) {
    const start = this.byteAt(at), put = utf8Encoder.encode(inserted), end = start + bytesOf(removed);
    this.whole = this.whole.slice(0, at) + inserted + this.whole.slice(at + removed.length);
    this.to += inserted.length - removed.length;
    if (!inserted.isWellFormed() || !removed.isWellFormed()) {
      // Half a character may have met its other half: no byte is sure to be as it was.
      this.bytes = utf8Encoder.encode(this.whole);
      for (const each of this.watching) each.all();
      return;
    }
    const made = new Uint8Array(this.bytes.length - (end - start) + put.length);
    made.set(this.bytes.subarray(0, start)), made.set(put, start);
    made.set(this.bytes.subarray(end), start + put.length);
    for (const each of this.watching) each.add(start, this.bytes.length - end);
    this.bytes = made;
  }

  // Keep a step for undo; letters that are typed in a row are one.
  keep(step) {
    const last = this.done[this.done.length - 1];
    this.undone = [];
    if (last && step.when - last.when < wordPause && !step.removed && !last.removed
      && step.at === last.at + last.inserted.length && !/\s/.test(step.inserted)) {
      last.inserted += step.inserted, last.when = step.when;
      return;
    }
    this.done.push(step);
    if (this.done.length > maxUndone) this.done.shift();
  }

  undo(steps, others) {
    const step = steps.pop();
    if (!step) return;
    const back = { at: step.at, removed: step.inserted, inserted: step.removed, when: 0 };
    others.push(back);
    this.replace(back);
  }

  replace(step) {
    const { at, inserted } = step;
    this.apply(step);
    this.show(at, at + inserted.length);
    this.setSelectionRange(at + inserted.length, at + inserted.length);
    this.changed();
  }

  before(event) {
    const kind = event.inputType;
    if (kind === "historyUndo") return event.preventDefault(), this.undo(this.done, this.undone);
    if (kind === "historyRedo") return event.preventDefault(), this.undo(this.undone, this.done);
    if (!this.isAll || !event.cancelable) return;
    event.preventDefault();
    const data = event.data === null ? event.dataTransfer && event.dataTransfer.getData("text/plain") : event.data;
    const isLine = kind === "insertLineBreak" || kind === "insertParagraph";
    this.replaceAll(isLine ? "\n" : (data || "").replace(/\r\n?/g, "\n"));
  }

  replaceAll(inserted) {
    const step = { at: 0, removed: this.whole, inserted, when: 0 };
    this.isAll = false;
    this.keep(step), this.replace(step);
  }

  copy(event) {
    if (!this.isAll) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", this.whole);
    if (event.type === "cut") this.replaceAll("");
  }

  key(event) {
    const isCommand = event.ctrlKey || event.metaKey, name = event.key.toLowerCase();
    if (["control", "meta", "shift", "alt"].includes(name)) return;
    if (isCommand && (name === "z" || name === "y") && !event.altKey) {
      event.preventDefault();
      const isRedo = name === "y" || event.shiftKey;
      return this.undo(isRedo ? this.undone : this.done, isRedo ? this.done : this.undone);
    }
    if (this.bar.hidden) return;
    if (isCommand && name === "a") {
      event.preventDefault();
      return this.area.select(), this.isAll = true;
    }
    if (isCommand && ["c", "x", "v"].includes(name)) return;
    if (this.isAll && (["backspace", "delete", "enter"].includes(name) || name.length === 1)) return;
    this.isAll = false;
    if (isCommand && (name === "home" || name === "end") && !event.shiftKey) {
      event.preventDefault();
      const at = name === "end" ? this.whole.length : 0;
      return this.setSelectionRange(at, at);
    }
    // The cursor was scrolled out of the textarea: what is typed goes to where it was.
    if (this.away) this.setSelectionRange(...this.away);
  }

  // ---- what is in sight

  // The character at the middle of the sight, about.
  middle() {
    const { scrollTop, clientHeight, scrollHeight } = this.area;
    return this.from + (this.to - this.from) * Math.min(1, (scrollTop + clientHeight / 2) / scrollHeight);
  }

  scrolled() {
    if (this.isPulled()) return this.pulled();  // else the bar would go back to where the part is
    const { scrollTop, clientHeight, scrollHeight } = this.area, n = this.whole.length;
    const isNear = scrollTop < clientHeight && this.from > 0
      || scrollHeight - scrollTop < 2 * clientHeight && this.to < n;
    if (isNear && !this.bar.hidden) this.shift(); else this.follow();
  }

  // Take another part into the textarea; what is in sight stays where it is.
  shift() {
    const { area, from, to } = this, { scrollTop } = area, start = this.from + area.selectionStart;
    const end = this.from + area.selectionEnd, isSelected = start < end, direction = area.selectionDirection;
    const selected = this.away || [start, end], middle = Math.round(this.middle());
    if (isSelected) this.show(Math.min(start, middle), Math.max(end, middle)); else this.show(middle);
    if (this.from === from && this.to === to) return;
    const moved = this.from > from ? -this.heightOf(from, Math.min(to, this.from)) : this.heightOf(this.from, from);
    const [a, b] = selected.map(at => Math.min(this.to, Math.max(this.from, at)) - this.from);
    area.setSelectionRange(a, b, direction);
    this.away = selected[0] < this.from || selected[1] > this.to ? selected : null;
    area.scrollTop = scrollTop + moved;
    this.follow();
  }

  // Put the bar where the sight is.
  follow() {
    if (this.bar.hidden) return;
    const { scrollTop, scrollHeight, clientHeight } = this.area, n = this.whole.length;
    const perCharacter = scrollHeight / Math.max(1, this.to - this.from);
    const high = Math.min(maxBar, Math.round(n * perCharacter / 1000) * 1000);
    const at = (this.from + (this.to - this.from) * scrollTop / scrollHeight) / n * high;
    const isEnd = this.to === n && scrollTop + clientHeight >= scrollHeight - 1;
    this.bar.firstChild.style.height = high + "px";
    this.bar.scrollTop = isEnd ? high : at;
    this.barAt = this.bar.scrollTop;
  }

  // Whether the bar was moved by its reader.
  isPulled() { return !this.bar.hidden && Math.abs(this.bar.scrollTop - this.barAt) >= 2; }

  pulled() {
    if (!this.isPulled()) return;
    this.barAt = this.bar.scrollTop;
    const { area } = this, n = this.whole.length, part = this.bar.scrollTop / this.bar.scrollHeight;
    const isEnd = this.bar.scrollTop + this.bar.clientHeight >= this.bar.scrollHeight - 1;
    const at = isEnd ? n : Math.round(n * part), selected = this.away || [this.selectionStart, this.selectionStart];
    if (at < this.from || at > this.to) {
      this.show(at), this.away = selected;
      if (selected[0] >= this.from && selected[1] <= this.to) {
        area.setSelectionRange(...selected.map(each => each - this.from)), this.away = null;
      }
    }
    const kept = this.barAt;
    area.scrollTop = isEnd ? area.scrollHeight : this.heightOf(this.from, at);
    this.bar.scrollTop = this.barAt = kept;
  }
}

// Which bytes at both ends of a text are as they were when it was last sent.
class Touched {
  constructor() { this.head = this.tail = Infinity; }

  add(head, tail) { this.head = Math.min(this.head, head), this.tail = Math.min(this.tail, tail); }

  all() { this.head = this.tail = 0; }

  // What makes `now` of `before`: [first byte, how many go, the bytes that come].
  change(before, now) {
    const head = Math.min(this.head, before.length, now.length);
    const tail = Math.min(this.tail, before.length - head, now.length - head);
    return [head, before.length - head - tail, now.subarray(head, now.length - tail)];
  }
}

function isLow(text, at) {
  const code = text.charCodeAt(at), before = text.charCodeAt(at - 1);
  return code >= 0xdc00 && code < 0xe000 && before >= 0xd800 && before < 0xdc00;
}

function bytesOf(text) { return utf8Encoder.encode(text).length; }
