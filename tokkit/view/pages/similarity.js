// The page of similarities: the order of rows, and the pairs that are most alike.
element("order").addEventListener("change", event => {
  order = event.target.value === "alike" ? data.order : null;
  at = null, mark.style.visibility = "hidden";
  resize();
});
document.querySelector("form").addEventListener("submit", event => event.preventDefault());
element("pairs").replaceChildren(...data.pairs.map(([i, j, value]) => {
  const pair = [i, j].map(k => spaced(data.rows[k])).join(" \u2014 ");
  return make("li", "", pair, make("small", "", "  " + value.toFixed(3)));
}));
