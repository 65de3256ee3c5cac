// The heads of columns of tokens: the name of a tokenizer, its counts, and a button that copies the ids.

// `facts` are more that there is to say, `copy` and `remove` what the buttons do; null for no button.
function headOf({ name, n, error }, nBytes, { facts = [], copy = null, remove = null }) {
  const called = spaced(name), title = make("div", "title", make("strong", "", called));
  if (remove) title.append(buttonOf("\u00d7", remove, "Remove " + called));
  const parts = name ? [title] : [];
  if (error) return make("div", "", ...parts, make("span", "failed", spaced(error)));
  parts.push(make("span", "number count", counted(n, "token")));
  if (n) parts.push(make("span", "number", (nBytes / n).toFixed(2) + " bytes per token"));
  parts.push(...facts);
  if (copy && n) parts.push(buttonOf("Copy ids", copy, "Copy the ids of " + called));
  return make("div", "", ...parts);
}

// Ids as Python and JSON write a list.
function listed(ids) { return "[" + ids.join(", ") + "]"; }

// Write ids to the clipboard, and return what there is to say of it: the browser may not let us.
async function copyIds(ids) {
  try {
    await navigator.clipboard.writeText(listed(ids));
    return counted(ids.length, "id") + (ids.length === 1 ? " is" : " are") + " copied.";
  } catch { return "The browser does not let this page copy."; }
}
