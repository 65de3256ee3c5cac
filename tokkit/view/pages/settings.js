// The settings of the playground, and the part of its address that keeps them and a short text.
const maxLink = 4000, maxTokenizers = 8;

// What is kept: tokenizers, special tokens, the tokenizer's own, white space, ids, context, prices, colours, and the
// text, the chat or the ids that are given.
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
  return Array.isArray(names) ? names.filter(name => all.includes(name)).slice(0, maxTokenizers) : [];
}

// The prices that a link chooses: model of the table, or none, by tokenizer.
function knownPrices(chosen, names, prices) {
  if (!prices || !chosen || typeof chosen !== "object") return {};
  const isKnown = ([name, model]) => names.includes(name) && (model === "" || Object.hasOwn(prices.models, model));
  return Object.fromEntries(Object.entries(chosen).filter(isKnown));
}

// What tokens cost: three digits that count.
function cost(n, price, currency) {
  const value = n * price / 1e6;
  return (value ? Number(value.toPrecision(3)).toString() : "0") + (currency ? " " + currency : "");
}

// Which model of the price table a tokenizer is: the one that was chosen for it, or one of its name.
function modelOf(name, prices, chosen) {
  if (!prices) return "";
  if (Object.hasOwn(chosen, name)) return chosen[name];
  const stem = name.split("/").pop().replace(/\.(json|tiktoken|model|gguf)$/, "");
  return [name, stem].find(each => Object.hasOwn(prices.models, each)) || "";
}

function priceChoice(name, prices, model, choose) {
  const select = document.createElement("select");
  select.append(new Option("no price", "", false, !model));
  for (const each of Object.keys(prices.models)) select.append(new Option(shown(each), each, false, each === model));
  select.setAttribute("aria-label", "Price of " + shown(name));
  select.addEventListener("change", () => choose(select.value));
  return select;
}

// What a head says of money and of the context that is filled.
function factsOf({ name, n, fits }, { context, prices, model, choose }) {
  const price = model && prices.models[model], limit = context || price && price[1], facts = [];
  const say = (text, classes = "number") => facts.push(make("span", classes, text));
  if (prices) facts.push(priceChoice(name, prices, model, choose));
  if (price) say(cost(n, price[0], prices.currency));
  if (limit && n <= limit) say((100 * n / limit).toFixed(1) + " % of " + limit.toLocaleString("en"));
  if (limit && n > limit) {
    say(counted(n - limit, "token") + " too many", "number over");
    say("the first " + counted(fits, "byte") + " fit");
  }
  return facts;
}
