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
