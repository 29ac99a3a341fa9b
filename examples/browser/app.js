/* The example's page: a notice and a form. An app has its own; what it needs of the device is marked with an arrow. */

import { Device, NEWCOMER } from "./deniable.js";
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

const show = (id) => ["consent", "survey", "declined"].forEach((other) => { $(other).hidden = other !== id; });
/** Return a time of today, or one with its day. */
function timeOf(seconds) {
  const then = new Date(seconds * 1000), isToday = then.toDateString() === new Date().toDateString();
  return isToday ? then.toLocaleTimeString() : then.toLocaleString([], { dateStyle: "long", timeStyle: "short" });
}

function write() {
  const { summary, sections, coalitions } = notice;
  $("title").textContent = `What “${survey.name}” collects`;
  $("asks").textContent = survey.question;
  $("answers").textContent = survey.categories.join(" · ");
  $("summary").append(...summary.map((line) => made("li", line)));
  $("ceilings").textContent = "Epsilon measures what responses give away: the smaller, the more private. Whatever the collector publishes later, "
    + `this page takes no other question and no epsilon above ${survey.max_epsilon}, and sends nothing more once the epsilons of this browser's `
    + `responses add up to ${lifetimeEpsilon}.`;
  for (const [heading, sentences] of sections) $("sections").append(made("h3", heading), made("p", sentences.join(" ")));
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

let isReopened = false; // the form, by whoever had said no

/** Show what holds now: whether to ask, and what became of the answer. */
async function look() {
  const consent = await device.consent();
  if (consent === "off") return show(isReopened ? "consent" : "declined");
  if (consent === "unset" || (await device.uncovered()).length) return show("consent");
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

async function decide(decision) {
  const waited = (await device.look(survey.name)).why === "waiting";
  await device.consent(decision); // <- once the user has read the notice
  isReopened = false;
  $("said").textContent = `Nothing is drawn or sent${waited ? ", and the response that waited is erased" : ""}.`;
  if (decision === "on") navigator.storage?.persist?.(); // ask the browser to evict this site's data last
  await look();
}

$("agree").addEventListener("click", () => decide("on"));
$("decline").addEventListener("click", () => decide("off"));
$("withdraw").addEventListener("click", () => decide("off"));
$("again").addEventListener("click", () => {
  isReopened = true;
  show("consent");
});
$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const outcome = await device.report(survey.name, new FormData(event.target).get("answer")); // <- draws; sends nothing
  event.target.reset(); // the answer is nowhere any more
  await look();
  if (outcome.status === "not-recorded") $("state").textContent = `Nothing was recorded: ${outcome.why}.`;
});

write();
await look();
setInterval(look, 1000);
