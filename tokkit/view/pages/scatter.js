// Points with names on a canvas that zooms and moves: where they are, which one is near, which names fit.
// Pixels, and square pixels for each name.
const margin = 40, lineHeight = 16, spare = 8, beside = 8, areaOfLabel = 6500;
const closest = 2000, maxFound = 200, tones = 8;

class Scatter {
  // `points` holds x, y of each point as float32, from 0 to 1, y upwards; `names` are clean texts; `heat` is 0 to 1.
  constructor(canvas, points, names, heat) {
    this.canvas = canvas, this.pen = canvas.getContext("2d");
    this.n = names.length, this.names = names;
    this.tone = heat.map(part => Math.round(part * (tones - 1)));
    this.x = new Float32Array(this.n), this.y = new Float32Array(this.n), this.widths = new Float32Array(this.n);
    let right = 0, top = 0;
    for (let i = 0; i < this.n; i++) {
      right = Math.max(right, this.x[i] = points.getFloat32(8 * i, true));
      top = Math.max(top, this.y[i] = points.getFloat32(8 * i + 4, true));
    }
    this.middle = [right / 2, top / 2], this.size = [right, top];
    this.font = "13px system-ui, sans-serif";
    this.radius = this.n > 3000 ? 2.5 : 3.5;
    // What is shown: a scale, pixels for each unit, and the point of the plane in the middle of the canvas.
    this.wide = this.high = 0, this.scale = 0, this.centre = [...this.middle];
    this.chosen = -1, this.pointed = -1, this.near = [], this.found = [];
    this.labelled = [], this.waiting = false;
    this.dye();
  }

  whole() {
    const fits = (k, room) => this.size[k] ? Math.max(1, room - 2 * margin) / this.size[k] : Infinity;
    const scale = Math.min(fits(0, this.wide), fits(1, this.high));
    return Number.isFinite(scale) ? scale : 1;
  }

  reset() {
    this.scale = this.whole(), this.centre = [...this.middle];
    this.later();
  }

  resize(wide, high) {
    const zoom = this.scale / this.whole() || 1;
    this.wide = wide, this.high = high;
    this.scale = zoom * this.whole();
    fit(this.canvas, this.pen, wide, high);
    this.paint();
  }

  place(i) {
    return [this.wide / 2 + (this.x[i] - this.centre[0]) * this.scale,
      this.high / 2 - (this.y[i] - this.centre[1]) * this.scale];
  }

  move(right, down) {
    this.centre[0] -= right / this.scale, this.centre[1] += down / this.scale;
    this.later();
  }

  // Zoom, and keep what is at this place of the canvas where it is.
  zoom(factor, px = this.wide / 2, py = this.high / 2) {
    const scale = Math.min(closest, Math.max(.5, this.scale / this.whole() * factor)) * this.whole();
    const change = 1 / this.scale - 1 / scale;
    this.centre[0] += (px - this.wide / 2) * change, this.centre[1] -= (py - this.high / 2) * change;
    this.scale = scale;
    this.later();
  }

  // Move the map if this point is not well within it.
  reveal(i) {
    const [px, py] = this.place(i);
    const inside = px > margin && py > margin && px < this.wide - margin && py < this.high - margin;
    if (!inside) this.centre = [this.x[i], this.y[i]];
    this.later();
  }

  // The point that is nearest to a place of the canvas, within so many pixels; -1 for none.
  at(px, py, reach) {
    let best = -1, least = reach * reach;
    for (let i = 0; i < this.n; i++) {
      const [qx, qy] = this.place(i), d = (qx - px) ** 2 + (qy - py) ** 2;
      if (d < least) least = d, best = i;
    }
    return best;
  }

  // The next point in a direction: little way aside counts more than little way ahead; `i` itself if there is none.
  next(i, right, up) {
    let best = i, least = Infinity;
    for (let j = 0; j < this.n; j++) {
      const dx = this.x[j] - this.x[i], dy = this.y[j] - this.y[i];
      const ahead = dx * right + dy * up, aside = Math.abs(dx * up) + Math.abs(dy * right);
      if (ahead > 0 && aside <= ahead && ahead + 2 * aside < least) least = ahead + 2 * aside, best = j;
    }
    return best;
  }

  // Paint once before the next frame, however many changes there are.
  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.paint());
  }

  dye() {
    const ink = t => "rgb(" + shade(.55 + .45 * t / (tones - 1)).map(Math.round) + ")";
    this.inks = Array.from({ length: tones }, (_, t) => ink(t));
  }

  paint() {
    this.waiting = false;
    this.pen.clearRect(0, 0, this.wide, this.high);
    const seen = this.dots();
    this.rings(this.found, "--found", 1.5);
    this.lines(this.chosen, this.near);
    this.rings(this.near, "--near", 2);
    this.rings([this.chosen, this.pointed].filter(i => i >= 0), "--chosen", 3);
    this.label(seen);
  }

  // Draw the dots in view, those of one colour by one stroke of the pen, and return them in their order.
  dots() {
    const pen = this.pen, radius = this.radius, seen = [];
    const paths = this.inks.map(() => new Path2D());
    for (let i = 0; i < this.n; i++) {
      const [px, py] = this.place(i), path = paths[this.tone[i]];
      if (px < -radius || py < -radius || px > this.wide + radius || py > this.high + radius) continue;
      path.moveTo(px + radius, py);
      path.arc(px, py, radius, 0, 2 * Math.PI);
      seen.push(i);
    }
    paths.forEach((path, t) => { pen.fillStyle = this.inks[t], pen.fill(path); });
    return seen;
  }

  rings(those, ink, width) {
    const pen = this.pen, radius = this.radius + 2.5;
    pen.strokeStyle = colour(ink), pen.lineWidth = width;
    pen.beginPath();
    for (const i of those) {
      const [px, py] = this.place(i);
      pen.moveTo(px + radius, py);
      pen.arc(px, py, radius, 0, 2 * Math.PI);
    }
    pen.stroke();
  }

  lines(from, those) {
    const pen = this.pen;
    pen.strokeStyle = colour("--near"), pen.lineWidth = 1;
    pen.beginPath();
    for (const i of those) {
      pen.moveTo(...this.place(from));
      pen.lineTo(...this.place(i));
    }
    pen.stroke();
  }

  // Write names beside their points, the important ones first, where no other name is.
  label(seen) {
    const pen = this.pen, rows = new Map(), found = this.found.slice(0, maxFound);
    const wanted = new Set([this.chosen, this.pointed, ...this.near, ...found].filter(i => i >= 0));
    const urgent = wanted.size;
    for (const i of seen) wanted.add(i);
    pen.font = this.font, pen.textBaseline = "middle", pen.textAlign = "left", pen.lineJoin = "round";
    pen.strokeStyle = colour("--paper"), pen.fillStyle = colour("--ink"), pen.lineWidth = 3;
    let left = this.wide * this.high / areaOfLabel, k = 0;
    this.labelled = [];
    for (const i of wanted) {
      if (k++ >= urgent && left <= 0) break;
      const [px, py] = this.place(i), width = this.widths[i] ||= pen.measureText(this.names[i]).width;
      if (px < 0 || px > this.wide || py < 0 || py > this.high) continue;
      const from = [px + beside, px - width - beside].find(x =>
        x > 0 && x + width < this.wide && this.free(rows, x - spare, x + width + spare, py));
      if (from === undefined) continue;
      pen.strokeText(this.names[i], from, py);
      pen.fillText(this.names[i], from, py);
      this.labelled.push(i), left--;
    }
  }

  // Whether no name is at this height, from here to there; if so, one is now.
  free(rows, from, to, py) {
    const row = Math.floor(py / lineHeight);
    for (let r = row - 1; r <= row + 1; r++) {
      for (const [a, b, y] of rows.get(r) || []) {
        if (a < to && from < b && Math.abs(y - py) < lineHeight) return false;
      }
    }
    rows.set(row, [...rows.get(row) || [], [from, to, py]]);
    return true;
  }
}
