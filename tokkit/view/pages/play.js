// The playground: what is typed goes to the server, and the tokens that are in sight come back.
const data = pageData(), pause = 15, around = 3000;
const example = "Tokenizers split text into tokens: na\u00efve caf\u00e9 menus, \u6771\u4eac, 3.14159, "
  + "\ud83d\ude42.\n\ndef count(words):\n    return len(words)  # type here\n";
const heads = element("heads"), status_ = element("status");
const ticks = { special: "special", own: "own", marks: "marks" };
let names = [], priced = {}, view = "text", timer = 0, saving = 0, sent = null, settled = null;

const text = new Editor(element("text"), element("bar"), changed);
const server = new Server(element("banner"), () => send());
const panes = new Panes(element("panes"), { readout: element("readout"), chosen: explain });
const chat = new Chat(() => changed());
const files = new Files(data.body, took => { text.value = took, choose("text"), changed(); }, say);
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
  const [from, to] = sight(new Uint8Array(0), -1);
  try {
    const made = await server.tokens("/api/chat", query(from, to), chat.body());
    if (!made) return;
    take(made, utf8Encoder.encode(made.text), -1, [from, to]);
    panes.source.isChat = true;
  } catch (error) {
    failed(error);
    // The tokens of what was shown before would be taken for those of the chat.
    if (error instanceof Refused && panes.source && !panes.source.isChat) {
      heads.replaceChildren(), panes.show({ bytes: new Uint8Array(0), names: [], range: () => [] });
    }
  }
}

function failed(error) {
  if (error instanceof Refused) say(error.message);
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
  heads.style.setProperty("--columns", Math.max(1, sets.length));
  heads.replaceChildren(...sets.map(set => headOf(set, nBytes, {
    context: context(), prices: data.prices, model: modelOf(set.name, data.prices, priced),
    price: model => { priced[set.name] = model, changed(); },
    remove: sets.length > 1 ? () => { names = names.filter(name => name !== set.name), changed(); } : null,
  })));
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
  for (const [id, panel, name] of [["as-text", "typing", "text"], ["as-chat", "chatting", "chat"]]) {
    const tab = element(id), isOn = name === next;
    tab.setAttribute("aria-selected", String(isOn)), tab.tabIndex = isOn ? 0 : -1;
    element(panel).hidden = !isOn;
  }
}

function state() {
  const made = { k: names, s: element("special").checked, o: element("own").checked, m: element("marks").checked };
  if (context()) made.c = context();
  if (Object.keys(priced).length) made.p = priced;
  if (element("theme").value) made.d = element("theme").value;
  if (view === "chat") made.h = chat.messages();
  else if (text.value.length <= longestLink) made.t = text.value;
  return made;
}

function keep() {
  const link = linkOf(state());
  if (link !== location.hash) history.replaceState(null, "", link);
}

function restore() {
  const kept = stateOf(location.hash), found = known(kept.k, data.names);
  names = found.length ? found : data.shown.slice(0, mostTokenizers);
  text.value = isText(kept.t) ? kept.t : example;
  priced = knownPrices(kept.p, data.names, data.prices);
  element("special").checked = !!kept.s, element("own").checked = !!kept.o, element("marks").checked = kept.m !== false;
  if (Number.isInteger(kept.c) && kept.c > 0) element("context").value = kept.c;
  if (kept.d === "light" || kept.d === "dark") element("theme").value = kept.d;
  if (Array.isArray(kept.h)) {
    chat.set(kept.h.filter(each => each && isText(each.role) && isText(each.content)));
    choose("chat");
  } else choose("text");
  dress(), panes.set({ marks: element("marks").checked });
}

function dress() {
  const theme = element("theme").value;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

for (const name of data.names) element("names").add(new Option(shown(name), name));
for (const id of ["special", "own", "context"]) element(id).addEventListener("input", changed);
element("marks").addEventListener("change", () => { panes.set({ marks: element("marks").checked }), keep(); });
element("theme").addEventListener("change", () => { dress(), keep(); });
element("add").addEventListener("click", () => {
  const name = element("names").value;
  if (names.includes(name)) return say(shown(name) + " is here already.");
  if (names.length === mostTokenizers) return say("There are " + mostTokenizers + " tokenizers already.");
  names.push(name), changed();
});
element("link").addEventListener("click", async () => {
  keep();
  const isWhole = view === "chat" || text.value.length <= longestLink;
  const told = isWhole ? "The link is copied." : "The link is copied; the text is too long for it.";
  try {
    await navigator.clipboard.writeText(location.href), say(told);
  } catch { say("The link is in the address bar."); }
});
for (const [id, name] of [["as-text", "text"], ["as-chat", "chat"]]) {
  element(id).addEventListener("click", () => { choose(name), changed(); });
  element(id).addEventListener("keydown", event => {
    if (!event.key.startsWith("Arrow")) return;
    choose(name === "text" ? "chat" : "text"), changed();
    element(view === "text" ? "as-text" : "as-chat").focus();
  });
}
element("panes").addEventListener("scroll", () => { heads.scrollLeft = element("panes").scrollLeft; });
element("settings").addEventListener("submit", event => event.preventDefault());
addEventListener("hashchange", () => { restore(), send(); });
restore();
send();
