/**
 * A form that asks for consent: <deniable-consent>. It shows each question with the three lines on its terms, and two buttons that
 * look alike. It stores nothing itself; what the app adds to the notice goes inside the element.
 *
 *   const form = document.querySelector("deniable-consent");
 *   form.device = device;                        // shows itself if there is anything to ask, and hides otherwise
 *   form.addEventListener("consent", …);         // or "refusal": the decision is stored
 *
 * @module
 */

import { languageOf } from "./terms.js";

/** @import { Device } from "./device.js" */
/**
 * Texts that replace the form's own: of another language, or another tone. `lines` has the three lines of a survey by its name.
 * @typedef {object} Texts
 * @property {string} [agree]
 * @property {string} [decline]
 * @property {string} [failed]
 * @property {Record<string, string[]>} [lines]
 */

/** @type {Record<string, { agree: string, decline: string, failed: string }>} */
const CATALOGUES = {
  en: { agree: "I agree", decline: "No", failed: "The browser could not store your decision. Nothing is sent." },
  de: { agree: "Ich stimme zu", decline: "Nein", failed: "Der Browser konnte Ihre Entscheidung nicht speichern. Es wird nichts gesendet." },
  fr: { agree: "J'accepte", decline: "Non", failed: "Le navigateur n'a pas pu enregistrer votre décision. Rien n'est envoyé." },
};

const STYLE = `
:host { display: block; }
:host([hidden]) { display: none; }
[part="form"] { padding: var(--deniable-padding, 1.5rem); border: 1px solid var(--deniable-line, currentColor);
  border-radius: var(--deniable-radius, .5rem); background: var(--deniable-background, transparent); color: var(--deniable-ink, inherit); }
[part="question"] { margin: 0; font-size: 1.15em; font-weight: 600; }
[part="answers"] { margin: .25rem 0 0; }
[part="lines"] { margin: .75rem 0 1.25rem; padding-inline-start: 1.2em; }
li { margin: .4rem 0; }
[part="buttons"] { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.25rem; }
button { flex: 1 1 8rem; min-height: 2.75rem; padding: .55rem .75rem; border: 1px solid var(--deniable-accent, currentColor);
  border-radius: var(--deniable-radius, .5rem); background: transparent; color: inherit; font: inherit; cursor: pointer; }
button:hover { text-decoration: underline; }
button:focus-visible { outline: 3px solid var(--deniable-accent, currentColor); outline-offset: 2px; }
[role="alert"]:empty { display: none; }
`;

/** @param {string} tag @param {Record<string, string>} attributes @param {(string | Node)[]} inner */
function made(tag, attributes, ...inner) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inner); // texts are never markup
  return element;
}

/** Where there are no elements, as on a server that renders pages, the module can be imported. */
const Base = globalThis.HTMLElement ?? /** @type {typeof HTMLElement} */ (/** @type {unknown} */ (class {}));

export class DeniableConsent extends Base {
  /** @type {Device | null} */
  #device = null;
  /** @type {Texts} */
  #texts = {};

  /** Hide until there is something to ask, and take what was set before this module was loaded. */
  connectedCallback() {
    if (!this.shadowRoot) this.hidden = true;
    const early = /** @type {any} */ (this);
    for (const name of ["texts", "device"].filter((own) => Object.hasOwn(early, own))) {
      const value = early[name];
      delete early[name];
      early[name] = value;
    }
  }

  /** What keeps the decision, and says what to ask. */
  get device() { return this.#device; }

  set device(device) {
    this.#device = device;
    this.#renew();
  }

  get texts() { return this.#texts; }

  set texts(texts) {
    this.#texts = texts;
    this.#renew();
  }

  #renew() {
    this.update().catch(() => { this.hidden = true; }); // a browser that keeps nothing is not asked
  }

  /** Show the surveys that the user has not decided on; hide if there is none. */
  async update() {
    if (this.#device) await this.#show(await this.#device.uncovered());
  }

  /** Show all surveys, also to a user who refused or agreed before. */
  async ask() {
    if (this.#device) await this.#show((await this.#device.explain()).map(({ name }) => name));
  }

  /** @param {string[]} names */
  async #show(names) {
    const device = this.#device, tag = this.closest("[lang]")?.getAttribute("lang") || "en", code = languageOf(tag);
    if (!device) return;
    const surveys = (await device.explain(code)).filter(({ name }) => names.includes(name));
    if (device !== this.#device) return; // another took its place meanwhile
    const texts = { ...CATALOGUES[code], ...this.#texts }, failure = made("p", { role: "alert" });
    /** @param {"on" | "off"} decision @param {string} event @param {string} text @param {string} part */
    const button = (decision, event, text, part) => {
      const element = made("button", { type: "button", part: `button ${part}` }, text);
      element.addEventListener("click", async () => {
        try {
          await device.consent(decision);
          this.hidden = true;
          this.dispatchEvent(new CustomEvent(event, { bubbles: true, composed: true, detail: { surveys: names } }));
        } catch { // the disk; a refusal holds in this page all the same
          failure.textContent = texts.failed;
        }
      });
      return element;
    };
    const groups = surveys.map(({ name, question, categories, lines }) => made("div", { role: "group", "aria-labelledby": `asks-${name}` },
      made("p", { part: "question", id: `asks-${name}` }, question), made("p", { part: "answers" }, categories.join(" · ")),
      made("ul", { part: "lines", lang: texts.lines ? tag : code }, ...(texts.lines?.[name] ?? lines).map((line) => made("li", {}, line)))));
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" }), sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE); // a style element would need the page's policy to allow it
    root.adoptedStyleSheets = [sheet];
    root.replaceChildren(made("div", { part: "form" }, ...groups, made("slot", {}), failure, made("div", { part: "buttons" },
      button("on", "consent", texts.agree, "agree"), button("off", "refusal", texts.decline, "decline"))));
    this.hidden = !surveys.length;
  }
}

globalThis.customElements?.define("deniable-consent", DeniableConsent);
