// The settings of the playground, and the part of its address that keeps them and a short text.
const longestLink = 4000, mostTokenizers = 8;

// What is kept: text, tokenizers, special tokens, the tokenizer's own, white space, context, colours, chat.
function linkOf(state) {
  const raw = utf8Encoder.encode(JSON.stringify(state));
  let text = "";
  for (const byte of raw) text += String.fromCharCode(byte);
  return "#" + btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

// The state of a link; an empty one for what is none.
function stateOf(link) {
  try {
    const text = atob(link.slice(1).replace(/-/g, "+").replace(/_/g, "/"));
    const made = JSON.parse(utf8Decoder.decode(Uint8Array.from(text, character => character.charCodeAt(0))));
    return made && typeof made === "object" ? made : {};
  } catch { return {}; }
}

function isText(value) { return typeof value === "string"; }

// The names of a link that there are.
function known(names, all) {
  return Array.isArray(names) ? names.filter(name => all.includes(name)).slice(0, mostTokenizers) : [];
}

// The prices that a link chooses: model of the table, or none, by tokenizer.
function knownPrices(chosen, names, prices) {
  if (!prices || !chosen || typeof chosen !== "object") return {};
  const isKnown = ([name, model]) => names.includes(name) && (model === "" || Object.hasOwn(prices.models, model));
  return Object.fromEntries(Object.entries(chosen).filter(isKnown));
}

function counted(n, one) { return n.toLocaleString("en") + " " + one + (n === 1 ? "" : "s"); }

// What tokens cost: three digits that count.
function cost(n, price, currency) {
  const value = n * price / 1e6;
  return (value ? Number(value.toPrecision(3)).toString() : "0") + (currency ? " " + currency : "");
}

function line(kind, text, ...classes) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (classes.length) made.className = classes.join(" ");
  return made;
}

// Which model of the price table a tokenizer is: the one that was chosen for it, or one of its name.
function modelOf(name, prices, chosen) {
  if (!prices) return "";
  if (Object.hasOwn(chosen, name)) return chosen[name];
  const stem = name.split("/").pop().replace(/\.(json|tiktoken|model|gguf)$/, "");
  return [name, stem].find(each => Object.hasOwn(prices.models, each)) || "";
}

function priceChoice(name, prices, model, price) {
  const select = document.createElement("select");
  select.append(new Option("no price", "", false, !model));
  for (const each of Object.keys(prices.models)) select.append(new Option(shown(each), each, false, each === model));
  select.setAttribute("aria-label", "Price of " + shown(name));
  select.addEventListener("change", () => price(select.value));
  return select;
}

// The line over a tokenizer's tokens.
function headOf(set, nBytes, { context, prices, model, price: choosePrice, remove }) {
  const head = document.createElement("div");
  head.append(line("strong", shown(set.name)));
  if (remove) {
    const button = line("button", "\u00d7");
    button.type = "button", button.setAttribute("aria-label", "Remove " + shown(set.name));
    button.addEventListener("click", remove);
    head.append(button);
  }
  if (set.error) head.append(line("span", shown(set.error).replace(/\u2423/g, " "), "failed"));
  else {
    head.append(line("span", counted(set.n, "token"), "number"));
    if (set.n) head.append(line("span", (nBytes / set.n).toFixed(2) + " bytes per token", "number"));
    const price = model && prices.models[model], limit = context || price && price[1];
    if (prices) head.append(priceChoice(set.name, prices, model, choosePrice));
    if (price) head.append(line("span", cost(set.n, price[0], prices.currency), "number"));
    if (limit) {
      const over = set.n - limit, part = (100 * set.n / limit).toFixed(1) + " % of " + limit.toLocaleString("en");
      head.append(over > 0 ? line("span", counted(over, "token") + " too many", "number", "over")
        : line("span", part, "number"));
      if (over > 0) head.append(line("span", "the first " + counted(set.fits, "byte") + " fit", "number"));
    }
  }
  return head;
}
