// Other views of attention: the maps of all heads at once, and lines from each token to those that it looks at.
const views = element("view"), grid = element("grid"), lines = element("lines"), thread = element("threads");
const threadPen = thread.getContext("2d"), thumb = 88, maxTokens = 300, high_ = 22, wide_ = 180, least = .02;
let looking = -1;
const hints = {
  map: readout.textContent, grid: "Choose a head to see its map.",
  lines: "Point at a token on the left, or reach it by Tab, to see what it looks at.",
};

// A map of a head in few pixels, each of which is the greatest weight of its part.
function thumbnail(l, h) {
  const sheet = document.createElement("canvas"), brush = sheet.getContext("2d");
  const stepI = Math.ceil(rows / thumb), stepJ = Math.ceil(columns / thumb);
  sheet.width = Math.ceil(columns / stepJ), sheet.height = Math.ceil(rows / stepI);
  const image = new ImageData(sheet.width, sheet.height), pixels = new Uint32Array(image.data.buffer);
  const greatest = new Uint16Array(pixels.length), ofHead = planeOf(l, h);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) {
    const at = Math.floor(i / stepI) * sheet.width + Math.floor(j / stepJ), weight = ofHead[i * columns + j];
    if (weight > greatest[at]) greatest[at] = weight;
  }
  greatest.forEach((weight, k) => { pixels[k] = colours[weight]; });
  brush.putImageData(image, 0, 0);
  return sheet;
}

function drawGrid() {
  grid.style.setProperty("--heads", heads);
  const made = [];
  for (let l = 0; l < layers; l++) for (let h = 0; h < heads; h++) {
    const name = make("small", "", "layer " + (l + 1) + ", head " + (h + 1));
    const button = buttonOf(thumbnail(l, h), () => {
      layer.value = l, head.value = h, views.value = "map";
      choose(), layer.dispatchEvent(new Event("change"));
    });
    button.append(name);
    made.push(button);
  }
  grid.replaceChildren(...made);
}

function tokenList(id, tokens, canLook) {
  element(id).replaceChildren(...tokens.slice(0, maxTokens).map((token, i) => {
    const item = make("li", "", clipped(token));
    if (!canLook) return item;
    item.tabIndex = 0;
    for (const kind of ["pointerenter", "focus"]) item.addEventListener(kind, () => look(i));
    return item;
  }));
}

// Show the lines of one token, or of all for -1.
function look(i) {
  looking = i;
  drawLines();
  if (i < 0) return;
  const found = Array.from({ length: columns }, (_, j) => [step(i, j), j]).sort((a, b) => b[0] - a[0]);
  readout.textContent = shown(data.rows[i]) + " looks at " + found.slice(0, 5).map(([weight, j]) =>
    shown(data.columns[j]) + " " + (weight / 65535 * data.top).toFixed(3)).join(", ");
}

function drawLines() {
  const n = Math.min(rows, maxTokens), m = Math.min(columns, maxTokens);
  const right = element("right").children;
  fit(thread, threadPen, wide_, Math.max(n, m) * high_);
  threadPen.strokeStyle = colour("--focus"), threadPen.lineWidth = 2;
  for (let j = 0; j < m; j++) right[j].style.background = "";
  for (let i = 0; i < n; i++) {
    if (looking >= 0 && i !== looking) continue;
    for (let j = 0; j < m; j++) {
      const part = step(i, j) / 65535;
      if (part < least) continue;
      threadPen.globalAlpha = part;
      threadPen.beginPath();
      threadPen.moveTo(0, (i + .5) * high_), threadPen.lineTo(wide_, (j + .5) * high_);
      threadPen.stroke();
      if (looking < 0) continue;
      right[j].style.background = "rgb(" + shade(part).join() + ")";
      right[j].style.color = part > .5 !== dark.matches ? "#fff" : "#111";
    }
  }
  for (let j = 0; j < m; j++) if (!right[j].style.background) right[j].style.color = "";
}

function choose() {
  const view = views.value;
  frame.hidden = view !== "map", grid.hidden = view !== "grid", lines.hidden = view !== "lines";
  for (const select of [layer, head]) select.parentElement.hidden = view === "grid";
  readout.textContent = hints[view];
  if (view === "map") resize(), tell();
  if (view === "grid") drawGrid();
  if (view === "lines") looking = -1, drawLines();
}

tokenList("left", data.rows, true), tokenList("right", data.columns, false);
if (Math.max(rows, columns) > maxTokens) element("many").textContent = "The first " + maxTokens + " tokens.";
views.addEventListener("change", choose);
element("left").addEventListener("pointerleave", () => look(-1));
for (const select of [layer, head]) {
  select.addEventListener("change", () => { if (views.value === "lines") look(looking); });
}
dark.addEventListener("change", choose);
if (views.value !== "map") choose();
