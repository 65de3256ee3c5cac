// The map of a matrix: tokens or texts on both axes, a layer and a head at a time. Values go from `low`, 0 if there is
// none, to `top`; `order` is another order of the rows and columns of a square matrix.
const data = pageData(), weights = shorts(data.weights);
const [layers, heads, rows, columns] = data.shape;
const frame = element("frame"), room = element("room"), mark = element("mark"), readout = element("readout");
const canvas = element("map"), pen = canvas.getContext("2d");
const sheet = document.createElement("canvas"), brush = sheet.getContext("2d");
const layer = element("layer"), head = element("head");
// Browsers lay out 2^24 pixels a side.
const longest = Math.max(rows, columns), farthest = 2 ** 24;
const cell = Math.max(Math.min(4, Math.floor(farthest / longest)), Math.min(28, Math.floor(1100 / longest)));
const gap = cell > 6 ? 1 : 0, names = cell >= 8;
const font = Math.min(13, Math.max(8, cell - 2)) + "px ui-monospace, monospace";
pen.font = font;
const left = space(data.rows), top_ = space(data.columns);
const low = data.low || 0, isSigned = low < 0;
let wide = 0, high = 0, colours = null, at = null, order = null, plane = weights;

function fill(select, n, ...more) {
  for (let i = 0; i < n; i++) select.add(new Option(String(i + 1), String(i)));
  if (n > 1) select.append(...more);
  select.disabled = n < 2;
}

// The weights of a layer and a head, 0 to 65535; for the head "mean" those of its heads' mean.
function planeOf(l, h) {
  const size = rows * columns, from = l * heads * size;
  if (h !== "mean") return weights.subarray(from + h * size, from + (Number(h) + 1) * size);
  const sums = new Float32Array(size);
  for (let k = 0; k < heads; k++) for (let i = 0, j = from + k * size; i < size; i++, j++) sums[i] += weights[j];
  return Uint16Array.from(sums, sum => sum / heads);
}

function space(tokens) {
  return names ? Math.ceil(Math.max(...tokens.map(t => pen.measureText(label(t)).width))) + 10 : 4;
}

// A token as a caption; texts of several words, in `longest_label` characters, have spaces as they are.
function label(text) {
  return data.longest_label ? clipped(text, data.longest_label).replace(/\u2423/g, " ") : clipped(text);
}

function rowOf(i) { return data.rows[order ? order[i] : i]; }

function columnOf(j) { return data.columns[order ? order[j] : j]; }

// The weight of a square in the layer and head that are chosen, 0 to 65535.
function step(i, j) { return order ? plane[order[i] * columns + order[j]] : plane[i * columns + j]; }

// A square root, so that small weights are to be seen; what is below 0 has the other colour.
function dye() {
  const parts = new Uint8ClampedArray(4 * 65536);
  const hueOf = part => isSigned ? shade(Math.abs(2 * part - 1), part < .5) : shade(Math.sqrt(part));
  for (let s = 0; s < 65536; s++) parts.set([...hueOf(s / 65535), 255], 4 * s);
  colours = new Uint32Array(parts.buffer);
  const stops = Array.from({ length: 17 }, (_, k) => "rgb(" + hueOf(k / 16).map(Math.round).join() + ")");
  element("scale").style.background = "linear-gradient(90deg," + stops.join() + ")";
  element("low").textContent = roughly(low), element("top").textContent = roughly(data.top);
}

function roughly(value) { return String(Number(value.toPrecision(2))); }

// Draw squares as pixels of a sheet, which the canvas enlarges.
function lay(i0, i1, j0, j1) {
  const image = new ImageData(j1 - j0, i1 - i0), pixels = new Uint32Array(image.data.buffer);
  for (let i = i0, k = 0; i < i1; i++) for (let j = j0; j < j1; j++) pixels[k++] = colours[step(i, j)];
  sheet.width = image.width, sheet.height = image.height;
  brush.putImageData(image, 0, 0);
}

function seen(from, size, n) {
  return [Math.max(0, Math.floor(from / cell)), Math.min(n, Math.ceil((from + size) / cell))];
}

// Draw what the frame shows: of thousands of tokens only these.
function paint() {
  const [i0, i1] = seen(frame.scrollTop, high - top_, rows), [j0, j1] = seen(frame.scrollLeft, wide - left, columns);
  const x = left - frame.scrollLeft, y = top_ - frame.scrollTop;
  pen.clearRect(0, 0, wide, high);
  if (i0 < i1 && j0 < j1) {
    lay(i0, i1, j0, j1);
    pen.drawImage(sheet, x + j0 * cell, y + i0 * cell, (j1 - j0) * cell, (i1 - i0) * cell);
  }
  if (gap) {
    for (let i = i0; i < i1; i++) pen.clearRect(0, y + (i + 1) * cell - gap, wide, gap);
    for (let j = j0; j < j1; j++) pen.clearRect(x + (j + 1) * cell - gap, 0, gap, high);
  }
  pen.clearRect(0, 0, left, high), pen.clearRect(0, 0, wide, top_);
  if (names) caption(i0, i1, j0, j1, x, y);
  flag();
}

function caption(i0, i1, j0, j1, x, y) {
  pen.fillStyle = colour("--ink");
  pen.textAlign = "right";
  for (let i = i0; i < i1; i++) pen.fillText(label(rowOf(i)), left - 5, y + (i + .5) * cell);
  pen.textAlign = "left";
  for (let j = j0; j < j1; j++) {
    pen.save();
    pen.translate(x + (j + .5) * cell, top_ - 5);
    pen.rotate(-Math.PI / 2);
    pen.fillText(label(columnOf(j)), 0, 0);
    pen.restore();
  }
}

// Move the mark to the square that is pointed at.
function flag() {
  if (!at) return;
  const [y, x] = at.map(k => k * cell), covered = y < frame.scrollTop || x < frame.scrollLeft;
  mark.style.transform = "translate(" + (left + x) + "px," + (top_ + y) + "px)";
  mark.style.visibility = covered ? "hidden" : "visible";
}

function resize() {
  const w = left + columns * cell + 4, h = top_ + rows * cell + 4;
  room.style.width = w + "px", room.style.height = h + "px";
  frame.style.scrollPadding = top_ + "px 4px 4px " + left + "px";
  mark.style.width = mark.style.height = cell - gap + "px";
  wide = Math.min(w, frame.clientWidth), high = Math.min(h, frame.clientHeight);
  fit(canvas, pen, wide, high);
  pen.font = font, pen.textBaseline = "middle", pen.imageSmoothingEnabled = false;
  paint();
}

function tell() {
  if (!at) return;
  const [i, j] = at, value = low + step(i, j) / 65535 * (data.top - low);
  const said = data.longest_label ? spaced : shown;
  readout.textContent = said(rowOf(i)) + " (" + (i + 1) + ") \u2192 " + said(columnOf(j)) + " (" + (j + 1) + "): "
    + value.toFixed(4);
  if (isSigned) return;
  const ofHead = head.value === "mean" ? "mean of its heads" : "head " + (Number(head.value) + 1);
  readout.textContent += ", layer " + (Number(layer.value) + 1) + ", " + ofHead;
}

function point(i, j) {
  if (i < 0 || j < 0 || i >= rows || j >= columns) return;
  at = [i, j];
  tell(), flag();
}

fill(layer, layers), fill(head, heads, new Option("mean of all", "mean"));
for (const select of [layer, head]) select.addEventListener("change", () => {
  plane = planeOf(layer.value, head.value);
  tell(), paint();
});
canvas.addEventListener("mousemove", event => {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left - left, y = event.clientY - box.top - top_;
  if (x < 0 || y < 0) return;
  point(Math.floor((y + frame.scrollTop) / cell), Math.floor((x + frame.scrollLeft) / cell));
});
canvas.addEventListener("keydown", event => {
  const move = arrow(event);
  if (!move) return;
  if (at) point(at[0] + move[0], at[1] + move[1]); else point(0, 0);
  mark.scrollIntoView({ block: "nearest", inline: "nearest" });
});
frame.addEventListener("scroll", paint);
addEventListener("resize", resize);
dark.addEventListener("change", () => { dye(), paint(); });
plane = planeOf(0, 0), dye(), resize();
