// The page of word vectors: a map of words, a search, and each word's neighbours.
const data = pageData(), near = data.near.map(numbers), cosines = data.cosines.map(numbers);
const points = numbers(data.points), n = points.byteLength / 8;
const frame = element("frame"), canvas = element("map"), tip = element("tip"), readout = element("readout");
const find = element("find"), drawn = element("drawn"), list = element("words"), more = element("more");
const folded = data.words.slice(0, n).map(fold);
const map = new Scatter(canvas, points, data.words.slice(0, n).map(word => clipped(word, 28)), heats());
const listStep = 100, reach = 12, still = 4;
let listed = [], pressed = new Map(), moved = 0;

function fold(text) { return text.normalize("NFKC").toLowerCase(); }

// How frequent each word is among these, 0 to 1, by the logarithm.
function heats() {
  if (!data.counts) return new Float32Array(n).fill(.6);
  const logs = Float32Array.from(data.counts, count => Math.log(Math.max(1, count)));
  const top = logs.reduce((a, b) => Math.max(a, b), 0), low = logs.reduce((a, b) => Math.min(a, b), top);
  return logs.map(log => (log - low) / (top - low || 1));
}

function quoted(text) { return "\u201c" + shown(text) + "\u201d"; }

function told(i) { return shown(data.words[i]) + (data.counts ? ": " + counted(data.counts[i], "time") : ""); }

// The neighbours of a word, of all or of those on the map, as [number, cosine].
function neighboursOf(i) {
  const those = Number(drawn.checked), k = data.k[those];
  return Array.from({ length: k }, (_, r) => {
    const at = 4 * (i * k + r);
    return [near[those].getUint32(at, true), cosines[those].getFloat32(at, true)];
  });
}

function point(i) {
  map.pointed = i;
  tip.hidden = i < 0;
  if (i >= 0) {
    tip.textContent = readout.textContent = told(i);
    const [px, py] = map.place(i), box = tip.getBoundingClientRect();
    const x = Math.max(0, Math.min(px + 10, map.wide - box.width)), above = py - box.height - 10;
    tip.style.transform = "translate(" + x + "px," + (above > 0 ? above : py + 12) + "px)";
  }
  map.later();
}

// Show the neighbours of a word; -1 ends that.
function choose(i) {
  map.chosen = i;
  const found = i < 0 ? [] : neighboursOf(i);
  map.near = found.map(([j]) => j).filter(j => j < n);
  element("near").hidden = i < 0;
  element("chosen").textContent = i < 0 ? "" : shown(data.words[i]);
  element("neighbours").replaceChildren(...found.map(([j, cosine]) => row(j, cosine.toFixed(4))));
  if (i >= 0) readout.textContent = told(i) + (found.length ? "; nearest: " + shown(data.words[found[0][0]]) : "");
  for (const button of list.querySelectorAll("button")) {
    if (Number(button.value) === i) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  map.later();
}

// A line of a list: a word, which is a button if it is on the map, and a number.
function row(i, text) {
  const word = make(i < n ? "button" : "bdi", "", shown(data.words[i]));
  word.dir = "auto";
  if (i < n) {
    word.type = "button", word.value = String(i);
    word.addEventListener("click", () => {
      choose(i), point(-1), map.reveal(i);
      element("near").querySelector("h2").focus();
    });
  } else word.title = "not on the map";
  return make("li", "", word, ...text ? [make("span", "", text)] : []);
}

// Show the next words of the list: thousands at once would make the page slow.
function extend() {
  const from = list.childElementCount, some = listed.slice(from, from + listStep);
  list.append(...some.map(i => row(i, data.counts ? data.counts[i].toLocaleString("en") : "")));
  more.hidden = list.childElementCount >= listed.length;
  return list.children[from];
}

// Mark the words that hold what is typed: equal ones first, then those that begin with it, then others.
function search() {
  const asked = fold(find.value), groups = [[], [], []];
  for (let i = 0; asked && i < n; i++) {
    const at = folded[i].indexOf(asked);
    if (at >= 0) groups[folded[i] === asked ? 0 : at ? 2 : 1].push(i);
  }
  map.found = groups.flat();
  listed = asked ? map.found : Array.from({ length: n }, (_, i) => i);
  const many = counted(listed.length, "word");
  element("listed").textContent = asked ? many + " found" : "Words";
  if (asked) readout.textContent = many + (listed.length === 1 ? " contains " : " contain ") + quoted(find.value);
  list.replaceChildren();
  extend();
  map.later();
}

function zoom(factor, px, py) { point(-1), map.zoom(factor, px, py); }

function place(event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

// Two fingers zoom by their distance; one pointer moves the map, or chooses if it does not move.
function drag(event) {
  const before = [...pressed.values()];
  pressed.set(event.pointerId, place(event));
  const after = [...pressed.values()], mean = (places, k) => places.reduce((sum, p) => sum + p[k], 0) / places.length;
  const right = mean(after, 0) - mean(before, 0), down = mean(after, 1) - mean(before, 1);
  moved += Math.abs(right) + Math.abs(down);
  if (moved <= still && after.length === 1) return;
  canvas.classList.add("moving"), point(-1), map.move(right, down);
  if (after.length > 1) {
    const apart = ([p, q]) => Math.hypot(p[0] - q[0], p[1] - q[1]);
    moved += still + 1, map.zoom(apart(after) / (apart(before) || 1), mean(after, 0), mean(after, 1));
  }
}

function key(event) {
  const by = arrow(event), zooms = { "+": 1.3, "=": 1.3, "-": 1 / 1.3, "0": 0 }[event.key];
  if (by && event.shiftKey) return point(-1), map.move(-80 * by[1], -80 * by[0]);
  if (by) {
    const from = map.pointed >= 0 ? map.pointed : map.chosen;
    const i = from < 0 ? map.at(map.wide / 2, map.high / 2, Infinity) : map.next(from, by[1], -by[0]);
    return map.reveal(i), point(i);
  }
  if (zooms === 0) return point(-1), map.reset();
  if (zooms) return zoom(zooms);
  if (event.key === "Enter" && map.pointed >= 0) choose(map.pointed);
  if (event.key === "Escape") choose(-1), point(-1);
}

element("about").textContent = data.about;
element("inside").hidden = data.words.length === n;
drawn.addEventListener("change", () => choose(map.chosen));
canvas.addEventListener("pointerdown", event => {
  if (event.button) return;
  if (!pressed.size) moved = 0;
  pressed.set(event.pointerId, place(event));
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", event => {
  if (pressed.has(event.pointerId)) drag(event); else point(map.at(...place(event), reach));
});
canvas.addEventListener("pointerup", event => {
  if (pressed.delete(event.pointerId) && !pressed.size && moved <= still) choose(map.at(...place(event), reach));
});
for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, event => {
  pressed.delete(event.pointerId);
  if (!pressed.size) canvas.classList.remove("moving");
});
canvas.addEventListener("pointerleave", () => point(-1));
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * (event.deltaMode ? .05 : .0015)), ...place(event));
}, { passive: false });
canvas.addEventListener("keydown", key);
find.addEventListener("input", search);
find.addEventListener("keydown", event => {
  if (event.key === "Enter" && map.found.length) choose(map.found[0]), map.reveal(map.found[0]);
  if (event.key === "Escape") find.value = "", search();
});
find.form.addEventListener("submit", event => event.preventDefault());
element("closer").addEventListener("click", () => zoom(1.5));
element("farther").addEventListener("click", () => zoom(1 / 1.5));
element("whole").addEventListener("click", () => { point(-1), map.reset(); });
more.addEventListener("click", () => extend().querySelector("button").focus());
addEventListener("resize", () => { map.resize(frame.clientWidth, frame.clientHeight), point(map.pointed); });
dark.addEventListener("change", () => { map.dye(), map.later(); });
map.resize(frame.clientWidth, frame.clientHeight);
search();
