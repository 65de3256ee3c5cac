// Lines over a logarithmic axis, drawn as SVG: each line has a name, a colour, and points that say what they are.
const chartWide = 460, chartHigh = 240, chartLeft = 66, chartBottom = 34, chartTop = 8, chartRight = 26;
const lineColours = 6;

function drawnAs(kind, attributes, ...content) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...content);
  return node;
}

// Round numbers from 0 up to a value, about five of them.
function ticksUpTo(top) {
  const rough = (top || 1) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= rough);
  return Array.from({ length: Math.ceil(top / step - 1e-9) + 1 }, (_, k) => k * step);
}

function roundly(value) {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
}

// `lines` are [name, [[x, y], ...]], x above 0; `tell` gets (name, x, y) of a point that is pointed at or focused.
function lineChart(title, lines, tell) {
  const points = lines.flatMap(([, each]) => each), xs = [...new Set(points.map(([x]) => x))].sort((a, b) => a - b);
  const ticks = ticksUpTo(Math.max(...points.map(([, y]) => y), 1e-9)), top = ticks[ticks.length - 1];
  const low = Math.log(xs[0]), span = Math.log(xs[xs.length - 1]) - low || 1;
  const inX = chartWide - chartLeft - chartRight, inY = chartHigh - chartTop - chartBottom;
  const across = x => chartLeft + (xs.length > 1 ? (Math.log(x) - low) / span : .5) * inX;
  const down = y => chartTop + (1 - y / top) * inY;
  const parts = ticks.flatMap(y => [
    drawnAs("line", { class: "grid", x1: chartLeft, x2: chartWide - chartRight, y1: down(y), y2: down(y) }),
    drawnAs("text", { x: chartLeft - 6, y: down(y) + 4, "text-anchor": "end" }, roundly(y)),
  ]);
  let right = -Infinity;
  for (const x of xs) {
    if (across(x) - right < 56) continue;
    right = across(x);
    parts.push(drawnAs("text", { x: right, y: chartHigh - 14, "text-anchor": "middle" }, x.toLocaleString("en")));
  }
  lines.forEach(([name, each], k) => {
    const line = "line" + (k % lineColours + 1), path = each.map(([x, y]) => across(x) + "," + down(y)).join(" ");
    parts.push(drawnAs("polyline", { class: line, points: path }));
    for (const [x, y] of each) {
      const said = spaced(name) + ", " + x.toLocaleString("en") + ": " + roundly(y);
      const dot = drawnAs("circle", { class: line, cx: across(x), cy: down(y), r: 4, tabindex: 0, role: "img" });
      dot.setAttribute("aria-label", said);
      for (const kind of ["pointerenter", "focus"]) dot.addEventListener(kind, () => tell(name, x, y));
      parts.push(dot);
    }
  });
  const drawing = drawnAs("svg", { viewBox: "0 0 " + chartWide + " " + chartHigh, role: "group" }, ...parts);
  drawing.setAttribute("aria-label", title);
  return make("figure", "", make("figcaption", "", title, make("small", "", ", by vocabulary size")), drawing);
}

// Names of lines with their colours.
function legend(names) {
  return make("p", "legend", ...names.flatMap((name, k) => [
    make("span", "", make("i", "swatch line" + (k % lineColours + 1)), spaced(name)), " "]));
}
