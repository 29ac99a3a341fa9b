/* The example's page: it asks for consent, then its question. What an app needs of the package is marked with an arrow. */

import { Device, NEWCOMER } from "./deniable/device.js"; // of npm: from "deniable"
import "./deniable/consent.js"; // of npm: "deniable/consent"
import { bundle, notice, figures } from "./survey.js"; // what `deniable survey export` and the notice say, built into the app

const survey = bundle.declaration, lifetimeEpsilon = "20", $ = (id) => document.getElementById(id);
const device = new Device({ // <- declares what may be asked, before any answer exists
  collector: bundle.origin, authority: bundle.authority, surveys: [survey], manifests: bundle.manifests, lifetimeEpsilon, deliverySeconds: 10,
});

/** Make an element; texts are never markup. */
function made(tag, text = "", ...inner) {
  const element = document.createElement(tag);
  element.textContent = text;
  element.append(...inner);
  return element;
}

const show = (id) => ["survey", "declined"].forEach((other) => { $(other).hidden = other !== id; });
/** Return a time of today, or one with its day. */
function timeOf(seconds) {
  const then = new Date(seconds * 1000), isToday = then.toDateString() === new Date().toDateString();
  return isToday ? then.toLocaleTimeString() : then.toLocaleString([], { dateStyle: "long", timeStyle: "short" });
}

function write() {
  const { sections, coalitions } = notice;
  $("ceilings").textContent = "Epsilon measures what responses give away: the smaller, the more private. Whatever the collector publishes later, "
    + `this page takes no other question and no epsilon above ${survey.max_epsilon}, and sends nothing more once the epsilons of this browser's `
    + `responses add up to ${lifetimeEpsilon}.`;
  for (const [heading, sentences] of sections) $("sections").append(made("h2", heading), made("p", sentences.join(" ")));
  $("learnt").textContent = coalitions.title;
  const row = (cell, texts) => made("tr", "", ...texts.map((text) => made(cell, text)));
  $("coalitions").append(made("thead", "", row("th", coalitions.heads)), made("tbody", "", ...coalitions.rows.map((texts) => row("td", texts))));
  $("coalitions").after(made("p", coalitions.condition));
  $("figures").href = figures;
  $("question").append(made("legend", survey.question), ...survey.categories.map((category, place) => {
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "answer", value: category, id: `answer-${place}`, required: true });
    return made("label", "", input, category);
  }));
}

/** Show what holds now: what became of the answer. The form shows itself while there is anything to agree to. */
async function look() {
  if (!$("consent").hidden) return show("consent");
  if ((await device.consent()) === "off") return show("declined");
  device.start(); // <- sends and refreshes in the background, at random times
  const { status, why, from } = await device.look(survey.name), ready = status === "ready";
  const became = { waiting: "A response was drawn and will be sent at a random moment.", accepted: "The collector has counted a response of this time slice.",
    duplicate: "The collector has counted a response of this time slice.", withdrawn: "The response of this time slice was withdrawn before it was sent." };
  const first = status === "not-recorded" && why.startsWith(NEWCOMER) && from;
  $("state").textContent = first ? `Thank you. Your first answer can be given at ${timeOf(from)}.`
    : ready ? "Your answer stays here; dice choose what is sent."
      : (status === "repeated" ? became[why] ?? `The response was dropped (${why}).` : `Not yet: ${why}.`)
        + (from ? ` The next answer can be given at ${timeOf(from)}.` : "");
  $("wait").hidden = !first;
  $("question").disabled = $("send").disabled = !ready;
  return show("survey");
}

$("consent").addEventListener("consent", async () => { // <- the device has kept the decision
  navigator.storage?.persist?.(); // ask the browser to evict this site's data last
  await look();
});
$("consent").addEventListener("refusal", async () => {
  $("said").textContent = "Nothing is drawn or sent.";
  await look();
});
$("withdraw").addEventListener("click", async () => {
  const waited = (await device.look(survey.name)).why === "waiting";
  await device.consent("off"); // <-
  $("said").textContent = `Nothing is drawn or sent${waited ? ", and the response that waited is erased" : ""}.`;
  await look();
});
$("again").addEventListener("click", async () => {
  await $("consent").ask(); // <- shows the form again
  await look();
});
$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const outcome = await device.report(survey.name, new FormData(event.target).get("answer")); // <- draws; sends nothing
  event.target.reset(); // the answer is nowhere any more
  await look();
  if (outcome.status === "not-recorded") $("state").textContent = `Nothing was recorded: ${outcome.why}.`;
});

write();
$("consent").device = device; // <-
await $("consent").update(); // <- shows the form if there is anything to ask
await look();
setInterval(look, 1000);
