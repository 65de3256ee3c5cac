// What all pages share: their data, texts that cannot act, colours, canvases and keys.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
// Browsers draw canvases of 2^12 pixels a side on every device.
const maxSide = 2 ** 12;
const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
// As tokkit.escaping has them: a bidi control in a token would turn the text around it.
const controls = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]/gu;

function element(id) { return document.getElementById(id); }

// An element of this class, "" for none, with texts and elements in it.
function make(kind, classes, ...content) {
  const node = document.createElement(kind);
  if (classes) node.className = classes;
  node.append(...content);
  return node;
}

// A button; `name` is what a screen reader says of one whose content does not say what it does.
function buttonOf(content, act, name = "") {
  const button = make("button", "", content);
  button.type = "button", button.addEventListener("click", act);
  if (name) button.setAttribute("aria-label", name);
  return button;
}

function counted(n, one) { return n.toLocaleString("en") + " " + one + (n === 1 ? "" : "s"); }

function pageData() { return JSON.parse(element("data").textContent); }

// Numbers as bytes in base64, read as little-endian on every machine.
function numbers(base64) {
  const text = atob(base64), raw = new Uint8Array(text.length);
  for (let k = 0; k < raw.length; k++) raw[k] = text.charCodeAt(k);
  return new DataView(raw.buffer);
}

function shorts(base64) { return new Uint16Array(numbers(base64).buffer); }

function integers(base64) { return new Uint32Array(numbers(base64).buffer); }

function floats(base64) { return new Float32Array(numbers(base64).buffer); }

function escaped(character) {
  const code = character.charCodeAt(0), digits = code.toString(16);
  return code < 0x100 ? "\\x" + digits.padStart(2, "0") : "\\u" + digits.padStart(4, "0");
}

function shown(token) {
  const clear = token.replace(/\n/g, "\u21b5").replace(/\t/g, "\u21e5").replace(/ /g, "\u2423");
  return clear.replace(controls, escaped);
}

// A name or a text of several words: inert as a token is, with its spaces as they are.
function spaced(text) { return shown(text).replace(/\u2423/g, " "); }

function clipped(token, longest = 16) {
  const characters = Array.from(shown(token));
  return characters.length > longest ? characters.slice(0, longest - 1).join("") + "\u2026" : characters.join("");
}

// The colour of a property of the style sheets as a canvas takes it, light or dark as the page is. An element that is
// never shown finds it.
function colour(name) {
  document.head.style.color = "var(" + name + ")";
  return getComputedStyle(document.head).color;
}

// The colour of a part of the whole, 0 to 1, as [red, green, blue]: blue, or with `isOther` red.
function shade(part, isOther = false) {
  const from = dark.matches ? [24, 30, 40] : [245, 248, 252];
  const to = isOther ? dark.matches ? [255, 150, 120] : [150, 40, 20] : dark.matches ? [125, 190, 255] : [12, 62, 122];
  return from.map((c, k) => c + (to[k] - c) * part);
}

// Give a canvas its size on the page, and as many pixels as the screen has there.
function fit(canvas, pen, wide, high) {
  const scale = Math.min(window.devicePixelRatio || 1, maxSide / Math.max(wide, high));
  canvas.width = wide * scale, canvas.height = high * scale;
  canvas.style.width = wide + "px", canvas.style.height = high + "px";
  pen.scale(scale, scale);
}

// Where an arrow key goes, [down, right]; undefined for other keys.
function arrow(event) {
  const move = arrows[event.key];
  if (move) event.preventDefault();
  return move;
}
