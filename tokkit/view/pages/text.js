// Texts as bytes: what tokens cover is shown as characters, and bytes of incomplete characters as \xhh.
const utf8Decoder = new TextDecoder("utf-8", { ignoreBOM: true }), utf8Encoder = new TextEncoder();
const marksOf = { "\n": "\u21b5\n", "\t": "\u21e5\t", " ": "\u00b7", "\r": "\u240d" };
// What has no ink, besides those that are always escaped: joiners, soft hyphens, odd spaces, selectors, tags.
const inkless = new RegExp("[\\u00a0\\u00ad\\u034f\\u115f\\u1160\\u180e\\u2000-\\u200d\\u202f\\u205f\\u2060\\u3000"
  + "\\u3164\\ufe00-\\ufe0f\\ufeff]|\\udb40[\\udc00-\\udfff]", "g");
const escapedAlways = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]/g;
const plain = /^ ?[!-~]*$/;

// How large a text is, said in words.
function sizeOf(bytes) {
  let n = 0;
  for (let at = 0; at < bytes.length; at++) if ((bytes[at] & 0xc0) !== 0x80) n++;
  return counted(n, "character") + ", " + counted(bytes.length, "byte");
}

function isCut(bytes, at) { return at < bytes.length && (bytes[at] & 0xc0) === 0x80; }

function hexByte(byte) { return "\\x" + byte.toString(16).padStart(2, "0"); }

// The length of the character at a byte, 0 if none is whole before `end`.
function whole(bytes, at, end) {
  const lead = bytes[at];
  const n = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (!n || at + n > end) return 0;
  for (let k = 1; k < n; k++) if ((bytes[at + k] & 0xc0) !== 0x80) return 0;
  if (lead === 0xe0 && bytes[at + 1] < 0xa0 || lead === 0xed && bytes[at + 1] > 0x9f) return 0;
  if (lead === 0xf0 && bytes[at + 1] < 0x90 || lead === 0xf4 && bytes[at + 1] > 0x8f) return 0;
  return n;
}

// The text of bytes from `start` to `end`.
function textOf(bytes, start, end) {
  for (let at = start; at < end; at++) if (bytes[at] > 0x7f) return unsure(bytes, start, end);
  return utf8Decoder.decode(bytes.subarray(start, end));
}

// A reader of a part of the text, for many spans in it: ASCII is decoded once.
function readerOf(bytes, from, to) {
  for (let at = from; at < to; at++) if (bytes[at] > 0x7f) return (start, end) => textOf(bytes, start, end);
  const whole = utf8Decoder.decode(bytes.subarray(from, to));
  return (start, end) => end <= to ? whole.slice(start - from, end - from) : textOf(bytes, start, end);
}

function unsure(bytes, start, end) {
  let made = "";
  for (let at = start; at < end;) {
    const n = whole(bytes, at, end);
    made += n ? utf8Decoder.decode(bytes.subarray(at, at + n)) : hexByte(bytes[at]);
    at += n || 1;
  }
  return made;
}

function coded(character) {
  return character.length > 1 ? "\\u{" + character.codePointAt(0).toString(16) + "}" : escaped(character);
}

// A text to read: what could act is escaped, and with `marks` white space is visible.
function toRead(text, marks) {
  if (plain.test(text)) return marks && text.charCodeAt(0) === 32 ? marksOf[" "] + text.slice(1) : text;
  const inert = text.replace(escapedAlways, character => character === "\r" && !marks ? "" : escaped(character));
  return marks ? inert.replace(/[\n\t\r ]/g, character => marksOf[character]).replace(inkless, coded) : inert;
}

function fromHex(hex) { return Uint8Array.from(hex.match(/../g) || [], pair => parseInt(pair, 16)); }

function hexOf(bytes) { return Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join(" "); }

// A token of the vocabulary by its bytes in hexadecimal, on one line.
function named(hex) { return shown(toRead(textOfHex(hex), true).replace(/\n/g, "")); }

function textOfHex(hex) {
  const bytes = fromHex(hex);
  return textOf(bytes, 0, bytes.length);
}

// Where blocks of a text begin: after line ends, of some thousand bytes each, so that few are in sight at once.
const blockBytes = 1200, maxBlock = 2400;
function blocksOf(bytes) {
  const starts = [0], n = bytes.length;
  for (let from = 0; n - from > blockBytes;) {
    // No further than a block may reach: a search for a line end that is not there would read the whole text each time.
    const reach = bytes.subarray(from + blockBytes, from + maxBlock + 1);
    let at = from + blockBytes + reach.indexOf(10) + 1;
    if (at === from + blockBytes) {
      if (n - from <= maxBlock) break;
      const space = reach.lastIndexOf(32);
      at = from + (space > 0 ? blockBytes + space : maxBlock);
    }
    while (isCut(bytes, at)) at++;
    if (at >= n) break;
    starts.push(at), from = at;
  }
  return starts;
}

// Where blocks begin after a change, `removed` bytes at `at` for `put` others: all others are as they were.
function blocksAfter(starts, bytes, [at, removed, put]) {
  const before = lastUpTo(starts, at) + 1, after = lastUpTo(starts, at + removed) + 1, made = starts.slice(0, before);
  for (let i = after; i < starts.length; i++) made.push(starts[i] - removed + put);
  const end = before < made.length ? made[before] : bytes.length;
  const isLong = end - made[before - 1] > 2 * maxBlock, isSparse = made.length > bytes.length / blockBytes * 2 + 2;
  return isLong || isSparse ? blocksOf(bytes) : made;
}

// The number of the last element that is not above a value; -1 if all are.
function lastUpTo(values, value, n = values.length) {
  let low = 0, high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
}
