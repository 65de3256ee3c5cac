// The playground: what is typed goes to the server, and the tokens that are in sight come back.
const data = pageData(), pause = 15, around = 3000;
const example = "Tokenizers split text into tokens: na\u00efve caf\u00e9 menus, \u6771\u4eac, 3.14159, "
  + "\ud83d\ude42.\n\ndef count(words):\n    return len(words)  # type here\n";
const heads = element("heads"), status_ = element("status");
const panels = { text: "typing", chat: "chatting", ids: "decoding" };
let names = [], priced = {}, view = "text", timer = 0, saving = 0, sizing = 0, sent = null, settled = null;

const text = new Editor(element("text"), element("bar"), changed);
const server = new Server(element("banner"), () => send());
const panes = new Panes(element("panes"), { readout: element("readout"), heads, chosen: explain });
const chat = new Chat(() => changed());
new Files(data.body, took => { text.value = took, choose("text"), changed(); }, say);
const reasons = new Why(server, say);

function say(told) { status_.textContent = told; }

function context() {
  const n = Math.floor(Number(element("context").value));
  return n > 0 ? n : 0;
}

function limits() {
  return names.map(name => {
    const model = modelOf(name, data.prices, priced);
    return context() || model && data.prices.models[model][1] || "";
  });
}

function query(from, to) {
  const made = new URLSearchParams({ from, to, limits: limits().join(",") });
  for (const name of names) made.append("tokenizer", name);
  if (element("special").checked) made.set("special", "1");
  if (element("own").checked) made.set("add", "1");
  return made;
}

// The bytes of the text that should be in sight: where the cursor is, or what is in sight now.
function sight(bytes, caret) {
  if (!panes.source) return [0, 2 * around];
  const [first, last] = panes.seen(), from = panes.starts[first], to = panes.end(last);
  const inside = caret < 0 || caret >= from && caret <= to;
  return inside ? [Math.max(0, from - around), to + around] : [Math.max(0, caret - 2 * around), caret + 2 * around];
}

// The byte before which the cursor is; -1 if nothing is typed just now.
function caretByte() { return text.isFocused && view === "text" ? text.caretByte : -1; }

// Send the text: at once if none is under way, else after a pause, so that keys in a row are one request.
function changed() {
  clearTimeout(timer);
  timer = setTimeout(send, server.flying ? pause : 0);
  clearTimeout(saving);
  saving = setTimeout(keep, 500);
}

async function send() {
  clearTimeout(timer);
  if (!names.length) return;
  if (view === "chat") return sendChat();
  if (view === "ids") return sendIds();
  const bytes = text.bytes, caret = caretByte(), [from, to] = sight(bytes, caret), asked = query(from, to);
  const since = new Touched();
  text.watching.add(since);
  try {
    const made = await server.tokens("/api/encode", asked, changes(asked, bytes));
    if (!made) return void text.watching.delete(since);
    const isNext = sent && panes.source && panes.source.bytes === sent.bytes;
    const change = isNext ? sent.since.change(sent.bytes, bytes) : null;
    if (sent) text.watching.delete(sent.since);
    sent = { key: made.key, bytes, since };
    take(made, bytes, caret, [from, to], change);
  } catch (error) {
    text.watching.delete(since);
    if (error.code !== "gone" || !sent) return failed(error);
    text.watching.delete(sent.since), sent = null;
    return send();
  }
}

// What is sent of a text: the bytes that are new since the server has had it, or all.
function changes(asked, bytes) {
  if (!sent) return bytes;
  const [at, removed, inserted] = sent.since.change(sent.bytes, bytes);
  if (inserted.length > bytes.length / 2) return bytes;
  asked.set("base", sent.key), asked.set("at", at), asked.set("removed", removed);
  return inserted;
}

async function sendChat() {
  const hint = element("whose").value ? "" : ". Choose a template that is written here.";
  await sendOther("/api/chat", chat.body(), made => utf8Encoder.encode(made.text), hint);
}

async function sendIds() {
  const made = await sendOther("/api/decode", element("given").value.toWellFormed(), bytesOfData);
  if (made && !made.same) say("By itself, the tokenizer cuts this text otherwise.");
}

function bytesOfData(made) { return new Uint8Array(numbers(made.utf8).buffer); }

// Send what is not a text; the answer has the text whose tokens are shown. `hint` is said after what is wrong.
async function sendOther(path, body, bytesIn, hint = "") {
  const [from, to] = sight(new Uint8Array(0), -1), asked = view;
  try {
    const made = await server.tokens(path, query(from, to), body);
    if (!made) return null;
    take(made, bytesIn(made), -1, [from, to]);
    panes.source.view = asked;
    return made;
  } catch (error) {
    failed(error, hint);
    // The tokens of what was shown before would be taken for those of this.
    if (error instanceof Refused && panes.source && panes.source.view !== asked) {
      heads.replaceChildren(), panes.show({ bytes: new Uint8Array(0), names: [], range: () => [] });
    }
    return null;
  }
}

function failed(error, hint = "") {
  if (error instanceof Refused) say(error.message + hint);
  else if (!server.isGone) throw error;
}

// Show what came for a text, and bring what was typed into sight.
function take(made, bytes, caret, [from, to], change = null) {
  const source = new Remote(made.key, bytes, made.sets, from, to);
  if (status_.textContent && !status_.textContent.includes("MB")) say("");
  panes.options.limit = limits().map(limit => limit || Infinity);
  drawHeads(made.sets, bytes.length);
  panes.show(source, change && [change[0], change[1], change[2].length]);
  if (caret >= 0) panes.reveal(caret);
  settled = performance.now();
  clearTimeout(sizing);
  sizing = setTimeout(() => { element("size").textContent = sizeOf(bytes); }, 200);
}

// A text whose tokens the server keeps: those near what is in sight are here.
class Remote {
  constructor(key, bytes, sets, from, to) {
    this.key = key, this.bytes = bytes, this.names = sets.map(set => set.name), this.asked = null;
    this.keep(sets, from, to);
  }

  keep(sets, from, to) {
    this.sets = sets.map(set => set.error ? { ...set, ids: [], starts: [], ends: [] } : new TokenSet(set));
    this.from = from, this.to = to;
  }

  range(from, to) {
    if (from >= this.from && to <= Math.max(this.to, 0)) return this.sets;
    if (to >= this.bytes.length && this.to >= this.bytes.length && from >= this.from) return this.sets;
    this.fetch(Math.max(0, from - around), to + around);
    return null;
  }

  async fetch(from, to) {
    if (this.asked && this.asked[0] <= from && this.asked[1] >= to) return;
    this.asked = [from, to];
    try {
      const asked = query(from, to);
      asked.set("key", this.key);
      const made = await server.ask("/api/range", asked, "");
      if (panes.source !== this) return;
      this.keep(made.sets, from, to);
      panes.later();
    } catch (error) {
      if (error.code === "gone") return send();
      failed(error);
    } finally { this.asked = null; }
  }
}

function drawHeads(sets, nBytes) {
  heads.replaceChildren(...sets.map(set => {
    const model = modelOf(set.name, data.prices, priced), choose = model => { priced[set.name] = model, changed(); };
    const remove = () => { names = names.filter(name => name !== set.name), changed(); };
    return headOf(set, nBytes, {
      facts: set.error ? [] : factsOf(set, { context: context(), prices: data.prices, model, choose }),
      copy: () => copy(set.name), remove: sets.length > 1 ? remove : null,
    });
  }));
}

// Copy all ids of a tokenizer, of which only those in sight are here.
async function copy(name) {
  try {
    say(await copyIds(await idsOf(panes.source.key, name)));
  } catch (error) { failed(error); }
}

async function idsOf(key, tokenizer) {
  return (await server.ask("/api/ids", new URLSearchParams({ key, tokenizer }), "")).ids;
}

// Say why a token is what it is: by the word around it, with the space before it.
function explain(set, number) {
  const bytes = panes.source.bytes, k = number - set.first;
  let start = set.starts[k], end = Math.max(start, set.ends[k]);
  while (start > 0 && !isSpace(bytes[start]) && !isSpace(bytes[start - 1]) && end - start < 100) start--;
  while (end < bytes.length && !isSpace(bytes[end]) && end - start < 160) end++;
  if (start > 0 && bytes[start - 1] === 32 && bytes[start] !== 32) start--;
  while (isCut(bytes, start)) start++;
  while (isCut(bytes, end)) end--;
  reasons.names(names, set.name);
  reasons.ask(textOf(bytes, start, end));
}

function choose(next) {
  view = next;
  for (const [name, panel] of Object.entries(panels)) {
    const tab = element("as-" + name), isOn = name === next;
    tab.setAttribute("aria-selected", String(isOn)), tab.tabIndex = isOn ? 0 : -1;
    element(panel).hidden = !isOn;
  }
}

// Go to a view as its reader asks; that of ids begins with those of the text.
async function turn(next) {
  const { key } = panes.source || {}, isEmpty = next === "ids" && !element("given").value;
  choose(next);
  if (isEmpty && key) {
    try { element("given").value = listed(await idsOf(key, names[0])); } catch (error) { failed(error); }
  }
  changed();
}

function state() {
  const made = { k: names, s: element("special").checked, o: element("own").checked, m: element("marks").checked };
  if (element("show").value === "ids") made.i = 1;
  if (context()) made.c = context();
  if (Object.keys(priced).length) made.p = priced;
  if (element("theme").value) made.d = element("theme").value;
  if (view === "chat") made.h = chat.messages();
  else if (view === "ids" && element("given").value.length <= maxLink) made.x = element("given").value;
  else if (text.value.length <= maxLink) made.t = text.value;
  return made;
}

function keep() {
  const link = linkOf(state());
  if (link !== location.hash) history.replaceState(null, "", link);
}

function restore() {
  const kept = stateOf(location.hash), found = known(kept.k, data.names);
  names = found.length ? found : data.shown.slice(0, maxTokenizers);
  text.value = isText(kept.t) ? kept.t : example;
  priced = knownPrices(kept.p, data.names, data.prices);
  element("special").checked = !!kept.s, element("own").checked = !!kept.o, element("marks").checked = kept.m !== false;
  if (Number.isInteger(kept.c) && kept.c > 0) element("context").value = kept.c;
  if (kept.d === "light" || kept.d === "dark") element("theme").value = kept.d;
  if (Array.isArray(kept.h)) {
    chat.set(kept.h.filter(each => each && isText(each.role) && isText(each.content)));
    choose("chat");
  } else if (isText(kept.x)) element("given").value = kept.x, choose("ids");
  else choose("text");
  element("show").value = kept.i ? "ids" : "text";
  dress(), redraw();
}

// Show what is in sight as the boxes say: nothing is asked of the server.
function redraw() { panes.set({ marks: element("marks").checked, ids: element("show").value === "ids" }); }

function dress() {
  const theme = element("theme").value;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

for (const name of data.names) element("names").add(new Option(shown(name), name));
for (const id of ["special", "own", "context"]) element(id).addEventListener("input", changed);
for (const id of ["marks", "show"]) element(id).addEventListener("change", () => { redraw(), keep(); });
element("theme").addEventListener("change", () => { dress(), keep(); });
element("add").addEventListener("click", () => {
  const name = element("names").value;
  if (names.includes(name)) return say(shown(name) + " is here already.");
  if (names.length === maxTokenizers) return say("There are " + maxTokenizers + " tokenizers already.");
  names.push(name), changed();
});
element("link").addEventListener("click", async () => {
  keep();
  const isWhole = view === "chat" || (view === "ids" ? element("given") : text).value.length <= maxLink;
  const told = isWhole ? "The link is copied." : "The link is copied; the text is too long for it.";
  try {
    await navigator.clipboard.writeText(location.href), say(told);
  } catch { say("The link is in the address bar."); }
});
Object.keys(panels).forEach((name, k, all) => {
  element("as-" + name).addEventListener("click", () => { turn(name); });
  element("as-" + name).addEventListener("keydown", event => {
    const by = arrow(event);
    if (!by) return;
    const next = all[(k + by[0] + by[1] + all.length) % all.length];
    turn(next), element("as-" + next).focus();
  });
});
element("given").addEventListener("input", changed);
element("settings").addEventListener("submit", event => event.preventDefault());
addEventListener("hashchange", () => { restore(), send(); });
restore();
send();
