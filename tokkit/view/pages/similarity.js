// The page of similarities: the order of rows, and the pairs that are most alike.
element("order").addEventListener("change", event => {
  order = event.target.value === "alike" ? data.order : null;
  at = null, mark.style.visibility = "hidden";
  resize();
});
document.querySelector("form").addEventListener("submit", event => event.preventDefault());
element("pairs").replaceChildren(...data.pairs.map(([i, j, value]) => {
  const item = document.createElement("li"), number = document.createElement("small");
  number.textContent = "  " + value.toFixed(3);
  item.append([i, j].map(k => shown(data.rows[k]).replace(/\u2423/g, " ")).join(" \u2014 "), number);
  return item;
}));
