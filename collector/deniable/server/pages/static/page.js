"use strict";
// A link's secret stands behind the #, which browsers send to nobody: it leaves the address, and is posted.
const secret = location.hash.slice(1);
const form = document.querySelector("form[data-fragment]");
if (form && secret) {
  history.replaceState(null, "", location.pathname);
  form.elements.token.value = secret;
  form.submit();
}
// Only the browser knows the address by which the collector is reached.
for (const field of document.querySelectorAll("input[data-link]")) {
  field.value = new URL(field.dataset.link, location.href).href;
}
// Figures are fetched anew while they may change: a fold that is open stays open.
const folds = () => [...document.querySelectorAll("#live details")];
const called = (fold) => fold.parentElement.getAttribute("aria-labelledby") + fold.firstElementChild.textContent;
let open = [];
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, target } = event.detail;
  if (xhr.status >= 400 && target.closest(".surveys")) {
    event.detail.shouldSwap = false;
    htmx.trigger(target, "retry");
  }
  open = folds().filter((fold) => fold.open).map(called);
});
document.addEventListener("htmx:afterSettle", () => {
  for (const fold of folds()) fold.open ||= open.includes(called(fold));
});
// On a phone the figures come first: dates and options are folded, unless a question lacks some.
const folded = innerWidth < 600 && document.querySelector("#live .sentence");
for (const fold of document.querySelectorAll("#standing, #options:not([data-needed])")) fold.open &&= !folded;
// Where a page may not write to the clipboard, the link leads to the address to be copied.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-copy]");
  if (!link || !navigator.clipboard) return;
  event.preventDefault();
  navigator.clipboard.writeText(link.href).then(() => {
    link.textContent = "Link copied";
  });
});
