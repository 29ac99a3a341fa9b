/**
 * A device of deniable in a browser page, or wherever WebCrypto is. Protocol version 1.
 *
 * It follows surveys of the kinds randomised-response, subset, affine, levels and mean whose responses are fresh and whose
 * enrolment is open. Comments name the rules (D1 to D13) of docs/protocol.md; README.md has what a page holds of them, and what not.
 *
 *   const device = new Device({ collector, authority, surveys: [declaration], manifests });
 *   await device.consent("on");                  // once the user has read the notice and agreed, never before
 *   await device.report("theme", "dark");        // draws once an epoch; sends nothing
 *   device.start();                              // sends and refreshes in the background, at random times
 *
 * @module
 */

import { remedyOf, retryAfter, verdictOf } from "./answers.js";
import { concat, demand, fromBase64, fromHex, hex, Refused, utf8 } from "./bytes.js";
import { atMost, exact, NANO, scaledUp } from "./exact.js";
import { isOrigin, offeredIn, openManifest } from "./manifests.js";
import { randomWord } from "./mechanisms.js";
import { sha256, signReport } from "./signing.js";
import { indexedDbStorage } from "./storage.js";
import { declaredLinesOf, linesOf } from "./terms.js";

export { indexedDbStorage, Refused };

/** @import { Answer } from "./answers.js" */
/** @import { Bytes } from "./bytes.js" */
/** @import { Fraction } from "./exact.js" */
/** @import { Manifest } from "./manifests.js" */
/** @import { Draw } from "./mechanisms.js" */

/** @typedef {import("./storage.js").Storage} Storage */
/** @typedef {import("./terms.js").Language} Language */
/**
 * What the app declares of a survey (D1); a bundle's `declaration` is one. Numbers are decimal texts, and lengths are seconds.
 * @typedef {object} Declaration
 * @property {string} name
 * @property {string} question
 * @property {string[]} categories
 * @property {string} max_epsilon
 * @property {string} [max_delta]
 * @property {number} [min_epoch_seconds]
 * @property {number} [max_epoch_seconds]
 * @property {number} [max_grace_seconds]
 * @property {string | null} [max_total_epsilon]
 * @property {string[] | null} [pinned_ids]
 * @property {string[]} [mechanisms]
 * @property {string} [max_kept_epsilon]
 * @property {number} [max_kept_epochs]
 */
/** @typedef {ReturnType<typeof declared>} Survey */
/** @typedef {Manifest & { envelope: Bytes, digest: string }} Opened */
/** @typedef {Pick<Opened, "envelope" | "digest" | "start" | "epoch_seconds" | "epochs" | "cost">} Accepted */
/** @typedef {{ key: string, accepted: Accepted[], highest: number, seen: Map<number, string>, proofs: Bytes[] }} Followed */
/** @typedef {{ epoch: number, ends: number, became: string, day: number }} Decided */
/**
 * A report that waits: `due` is when it is sent, not before `held`.
 * @typedef {object} Waiting
 * @property {string} name
 * @property {number} epoch
 * @property {Bytes} envelope
 * @property {number} starts
 * @property {number} closes
 * @property {number} due
 * @property {number} held
 * @property {number} attempts
 * @property {number} unanswered
 */
/** @typedef {{ digest: string, failures: number, due: number, day: number, requests: number, luck: number }} Asked */
/**
 * All that a device keeps.
 * @typedef {object} State
 * @property {"on" | "off" | "unset"} consent
 * @property {string | null} secret
 * @property {Map<string, number>} spent
 * @property {Map<string, Decided>} decided
 * @property {Waiting[]} outbox
 * @property {Map<string, Followed>} followed
 * @property {Map<string, Asked>} asked
 * @property {number | null} launch
 * @property {{ name: string, digest: string, bounds: string[] }[]} covered
 * @property {number} freshFrom
 * @property {boolean} unsure
 */
/**
 * What became of an answer, or would: `why` is empty if it was recorded, and `from` the Unix second from which it is worth another
 * try, if that is known.
 * @typedef {object} Outcome
 * @property {"recorded" | "ready" | "repeated" | "not-recorded"} status
 * @property {number | null} epoch
 * @property {string} why
 * @property {number | null} from
 */
/** @typedef {{ manifest: Opened, epoch: number, starts: number, secret: string }} Terms */
/** @typedef {{ now: () => number, running: () => number }} Clock Unix seconds, and seconds that never jump. */
/**
 * What a consent form shows of a survey.
 * @typedef {object} Explanation
 * @property {string} name
 * @property {string} question
 * @property {string[]} categories
 * @property {string[]} lines how chance works, what a response reveals at most, and how often one is sent
 */
/**
 * @typedef {object} Options
 * @property {string} collector its origin
 * @property {string} authority the key, in hex, that signs its surveys
 * @property {Declaration[]} surveys as bundles have them
 * @property {string[]} [manifests] signed, in base64, as bundles have them
 * @property {Storage} [storage]
 * @property {string} [lifetimeEpsilon] for all surveys, ever
 * @property {number} [deliverySeconds] within which a report is sent, at a random time
 * @property {"next" | "now"} [firstEpoch] what a device that finds no state may answer first: the next epoch, or the one that runs
 *   now, whose response it may have forgotten
 * @property {Clock} [clock]
 * @property {Draw} [draw]
 * @property {typeof globalThis.fetch} [fetch]
 */

const DAY = 86_400;
const MOST_SENDS = 6, MOST_REQUESTS_A_DAY = 8, MOST_WAITING = 200, JITTER = 1 / 4;
const REQUEST_SECONDS = 20, CLAIM_SECONDS = 60, LAUNCH_SECONDS = 30, SUSPENDED_SECONDS = 90;
const MAX_MANIFESTS = 2 << 20, MAX_ANSWER = 1 << 16;

/** How the reason begins why a newcomer waits; its first answer can be given at `from`. */
export const NEWCOMER = "this browser has no memory of earlier reports";

/** Nothing was drawn; `from` is the Unix second from which it is worth another try, if that is known. */
class NotRecorded extends Error {
  /** @param {string} why @param {number | null} from */
  constructor(why, from = null) {
    super(why);
    this.from = from;
  }
}

const jitter = () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;

/** @type {Clock} */
const systemClock = { now: () => Date.now() / 1000, running: () => performance.now() / 1000 };
const KNOWN = new Set(["name", "question", "categories", "max_epsilon", "max_delta", "min_epoch_seconds", "max_epoch_seconds",
  "max_grace_seconds", "max_total_epsilon", "pinned_ids", "mechanisms", "max_kept_epsilon", "max_kept_epochs"]);

/** Return an option's number; or say which option is none. @param {string} option @param {unknown} text */
function decimal(option, text) {
  try { return exact(text); } catch { throw new TypeError(`${option} must be a plain decimal in quotes, such as "20"`); }
}
/** @param {Fraction} fraction */
const nanoFloor = ([a, b]) => Number((a * NANO) / b);

/** @param {Declaration} given @param {number} lifetime */
function declared(given, lifetime) {
  const unknown = Object.keys(given).find((key) => !KNOWN.has(key));
  if (unknown) throw new TypeError(`this device follows no survey with ${unknown}`);
  const survey = { max_delta: "0", min_epoch_seconds: DAY, max_epoch_seconds: 400 * DAY, max_grace_seconds: 90 * DAY, ...given };
  /** @param {keyof Declaration} option */
  const of = (option) => decimal(`${survey.name}'s ${option}`, survey[option]), isKept = survey.max_kept_epsilon !== undefined;
  const total = (survey.max_total_epsilon ?? null) === null ? lifetime : nanoFloor(of("max_total_epsilon"));
  const bounds = [scaledUp(of("max_epsilon"), NANO), scaledUp(of("max_delta"), 10n ** 18n), Math.min(total, lifetime),
    lifetime, survey.max_grace_seconds, -Math.max(1, survey.min_epoch_seconds), // none may rise (D12)
    isKept ? scaledUp(of("max_kept_epsilon"), NANO) : -1, isKept ? survey.max_kept_epochs ?? 53 : 0];
  return { ...survey, total, bounds: bounds.map(String), digest: "" };
}

export class Device {
  #settings;
  #surveys;
  #scopes;
  /** @type {Map<string, Opened>} */
  #opened = new Map();
  /** Why no manifest of a survey was taken, by its name. @type {Record<"bundled" | "fetched", Map<string, string | null>>} */
  #faults = { bundled: new Map(), fetched: new Map() };
  #refused = false;
  /** @type {{ began: number, left: number, noted: number } | null} */
  #launch = null;
  /** @type {{ now: number, running: number } | null} */
  #backAt = null;
  /** @type {object | null} */
  #running = null;
  /** @type {AbortController | null} */
  #abort = null;
  #wake = () => {};

  /** @param {Options} options */
  constructor({ collector, authority, surveys, manifests = [], storage = indexedDbStorage(), lifetimeEpsilon = "20",
    deliverySeconds = 3600, firstEpoch = "next", clock = systemClock, draw = randomWord, fetch = globalThis.fetch,
    ...others }) {
    for (const name of Object.keys(others)) throw new TypeError(`there is no option ${name} of a Device`);
    if (!isOrigin(collector)) throw new TypeError("collector must be https://host[:port], in lower case");
    const lifetime = nanoFloor(decimal("lifetimeEpsilon", lifetimeEpsilon));
    if (!["next", "now"].includes(firstEpoch)) throw new TypeError('firstEpoch is "next" or "now"');
    this.#settings = { collector, authority: fromHex(authority), key: authority, manifests, storage, firstEpoch, clock, draw, fetch,
      lifetime, spread: deliverySeconds };
    this.#surveys = new Map(surveys.map((survey) => [survey.name, declared(survey, lifetime)]));
    this.#scopes = Promise.all([...this.#surveys.values()].map(async (survey) => {
      const { name, question, categories, mechanisms = [] } = survey;
      const asked = [name, question, categories.toSorted(), mechanisms.toSorted(), collector];
      survey.digest = await sha256(utf8(JSON.stringify(asked)));
    }));
  }

  // ------------------------------------------------ consent

  /**
   * Return what the user decided; or keep it. Nothing is stored before the first decision.
   * @param {"on" | "off"} [decision]
   * @returns {Promise<"on" | "off" | "unset">}
   */
  async consent(decision) {
    const { storage, clock, firstEpoch } = this.#settings;
    if (decision === undefined) return this.#refused ? "off" : ((await storage.read())?.consent ?? "unset");
    if (!["on", "off"].includes(decision)) throw new TypeError('consent is "on" or "off"');
    await this.#scopes;
    this.#refused = decision === "off"; // holds in this page, whatever the disk does
    if (this.#refused) this.#abort?.abort();
    const secret = hex(crypto.getRandomValues(new Uint8Array(32))), now = clock.now();
    await storage.update((state) => {
      // An evicted state looks like none: whoever finds none takes the current epochs for decided (D5).
      // What is kept by name is kept in maps: a plain object has a "constructor" of its own.
      state ??= { consent: "unset", secret: null, spent: new Map(), decided: new Map(), outbox: [], followed: new Map(), asked: new Map(), launch: null, covered: [],
        freshFrom: firstEpoch === "now" ? -1 : now, unsure: firstEpoch === "next" };
      state.consent = decision;
      if (this.#refused) { // it undoes no decision of an epoch (D4)
        while (state.outbox.length) settle(state, 0, "withdrawn", now);
        return { ...state, covered: [], secret: null };
      }
      const scopes = [...this.#surveys.values()].filter((survey) => !isCovered(state, survey));
      state.covered.push(...scopes.map(({ name, digest, bounds }) => ({ name, digest, bounds })));
      return { ...state, secret: state.secret ?? secret };
    }, true);
    if (this.#running) this.#wake();
    return decision;
  }

  /** Return the names of the surveys for which consent is still to be asked (D12); none after "off". */
  async uncovered() {
    const [state] = [await this.#settings.storage.read(), await this.#scopes];
    if (this.#refused || state?.consent === "off") return [];
    return [...this.#surveys.values()].filter((survey) => !state || !isCovered(state, survey)).map(({ name }) => name);
  }

  /**
   * Return what a consent form shows of each survey: what the app declares, and the lines that sum up the signed survey that came
   * with the app or is followed; of a survey without one, the most that the declaration allows.
   * @param {Language} [language]
   * @returns {Promise<Explanation[]>}
   */
  async explain(language = "en") {
    const { manifests, storage, clock } = this.#settings, state = await storage.read();
    const held = [...this.#surveys.keys()].flatMap((name) => state?.followed.get(name)?.accepted ?? []).map(({ envelope }) => envelope);
    const opened = await Promise.all([...held, ...manifests.map(fromBase64)].map((envelope) => this.#open(envelope).catch(() => null)));
    return [...this.#surveys.values()].map((survey) => {
      const fitting = opened.filter((manifest) => manifest !== null).filter((manifest) => manifest.name === survey.name
        && manifest.origin === this.#settings.collector && manifest.ends > clock.now() && !misfit(manifest, survey));
      const newest = fitting.reduce((one, other) => (!one || other.sequence > one.sequence ? other : one), /** @type {Opened | null} */ (null));
      const { name, question, categories } = survey;
      return { name, question, categories, lines: newest ? linesOf(newest, language) : declaredLinesOf(survey, language) };
    });
  }

  // ------------------------------------------------ reports

  /**
   * Draw, sign and store the one response of this epoch; send nothing.
   * @param {string} name
   * @param {string} answer
   * @returns {Promise<Outcome>}
   */
  async report(name, answer) {
    const survey = this.#surveys.get(name);
    const place = survey ? survey.categories.reduce((found, category, i) => (category === answer ? i : found), -1) : -1;
    if (!survey || place < 0) throw new RangeError("the survey, or its answer, was never declared");
    try {
      const { storage, draw, clock, spread } = this.#settings, before = await this.#terms(survey);
      if (!("manifest" in before)) return before;
      const { manifest, epoch, starts, secret } = before;
      const response = manifest.mechanism.randomise(place, draw);
      const envelope = await signReport(fromHex(secret), fromHex(manifest.id), epoch, response);
      /** @type {Outcome} */
      let outcome = { status: "recorded", epoch, why: "", from: null };
      await storage.update((state) => { // decision, charge and signed bytes are one transaction (D5)
        const now = clock.now(), terms = this.#judge(state, survey, now);
        if (!("manifest" in terms)) { // another tab was first: what was drawn here is gone, unseen
          outcome = terms;
          return undefined;
        }
        if (!state || terms.manifest !== manifest || terms.epoch !== epoch || terms.secret !== secret) {
          throw new NotRecorded("the state changed meanwhile", now);
        }
        const ends = starts + manifest.epoch_seconds, closes = ends + manifest.grace_seconds, due = now + delay(spread, closes - now);
        state.decided.set(name, { epoch, ends, became: "waiting", day: Math.floor(now / DAY) });
        state.spent.set(name, (state.spent.get(name) ?? 0) + manifest.cost);
        state.outbox.push({ name, epoch, envelope, starts, closes, due, held: 0, attempts: 0, unanswered: 0 });
        state.outbox.splice(0, state.outbox.length - MOST_WAITING); // over the cap the oldest go; their decisions stay (D4)
        return state;
      });
      if (this.#running) this.#wake();
      return outcome;
    } catch (error) {
      return notRecorded(error);
    }
  }

  /**
   * Return what report would, without an answer: "ready" if it would record one.
   * @param {string} name
   * @returns {Promise<Outcome>}
   */
  async look(name) {
    const survey = this.#surveys.get(name);
    if (!survey) throw new RangeError("the survey was never declared");
    try {
      const terms = await this.#terms(survey);
      return "manifest" in terms ? { status: "ready", epoch: terms.epoch, why: "", from: null } : terms;
    } catch (error) {
      return notRecorded(error);
    }
  }

  /** @param {Survey} survey */
  async #terms(survey) {
    await this.#scopes;
    if ((await this.consent()) !== "on") throw new NotRecorded("the user has not agreed");
    const { refused } = await this.#offer(survey, this.#settings.manifests.map(fromBase64));
    this.#faults.bundled.set(survey.name, refused && `the app's own was refused as ${refused.message}`);
    const state = await this.#settings.storage.read();
    for (const { envelope } of state ? this.#followed(state, survey.name).accepted : []) {
      await this.#open(envelope).catch(() => null); // bytes that rotted
    }
    return this.#judge(state, survey, this.#settings.clock.now());
  }

  /**
   * Judge whether the current epoch of a survey may be decided (D1 to D5, D12): nothing here knows an answer.
   * @param {State | null} state
   * @param {Survey} survey
   * @param {number} now
   * @returns {Terms | Outcome}
   */
  #judge(state, survey, now) {
    if (this.#refused || state?.consent !== "on" || !state.secret) throw new NotRecorded("the user has not agreed");
    if (!isCovered(state, survey)) throw new NotRecorded("the user has not agreed to this survey as it is declared now");
    const { epoch: highest, ends, became } = state.decided.get(survey.name) ?? { epoch: -1, ends: -Infinity, became: "" };
    if (now < ends) return { status: "repeated", epoch: highest, why: became, from: ends };
    const accepted = this.#followed(state, survey.name).accepted.flatMap(({ digest }) => this.#opened.get(digest) ?? []);
    const { bundled, fetched } = this.#faults, fault = fetched.get(survey.name);
    if (!accepted.length) throw new NotRecorded(["no verified manifest yet", bundled.get(survey.name), fault].filter(Boolean).join("; "));
    const begun = accepted.filter(({ start }) => start <= now), manifest = begun.findLast((candidate) => !misfit(candidate, survey));
    if (!begun.length) throw new NotRecorded("the survey has not begun", accepted[accepted.length - 1].start);
    if (!manifest) throw new NotRecorded(`the survey is not as it was declared: ${misfit(begun[begun.length - 1], survey)}`);
    const { start, epoch_seconds, epochs } = manifest, epoch = Math.floor((now - start) / epoch_seconds);
    if (epoch >= epochs) throw new NotRecorded("the survey is over");
    const starts = start + epoch * epoch_seconds, next = starts + epoch_seconds;
    if (state.unsure && fault) throw new NotRecorded(`${NEWCOMER}: it waits for the collector's date; ${fault}`);
    if (state.unsure) throw new NotRecorded(`${NEWCOMER}: it waits for the collector's date`, next); // which may move it
    if (starts <= state.freshFrom) throw new NotRecorded(`${NEWCOMER}: it begins with the next time slice`, next);
    if (epoch <= highest || starts < ends) throw new NotRecorded("this time slice may have been decided under another manifest", next);
    const own = (state.spent.get(survey.name) ?? 0) + manifest.cost, all = spentIn(state) + manifest.cost;
    if (all > this.#settings.lifetime || own > survey.total) throw new NotRecorded("the privacy budget is spent");
    return { manifest, epoch, starts, secret: state.secret };
  }

  // ------------------------------------------------ manifests

  /** @param {Bytes} envelope */
  async #open(envelope) {
    const digest = await sha256(envelope), known = this.#opened.get(digest);
    if (known) return known;
    const opened = { ...await openManifest(envelope, this.#settings.authority), envelope, digest };
    this.#opened.set(digest, opened);
    return opened;
  }

  /** @param {State} state @param {string} name @returns {Followed} */
  #followed(state, name) { // sequences belong to an authority
    const { key } = this.#settings, held = state.followed.get(name);
    if (held?.key === key) return held;
    const followed = { key, accepted: [], highest: -1, seen: new Map(), proofs: [] };
    state.followed.set(name, followed);
    return followed;
  }

  /**
   * Follow of these envelopes what the declaration fits (D2); return whether any was signed, and why the first was refused.
   * @param {Survey} survey
   * @param {Bytes[]} envelopes
   * @param {number | null} date
   */
  async #offer(survey, envelopes, date = null) {
    const { storage, clock, collector } = this.#settings;
    /** @type {Opened[]} */
    const signed = [];
    /** @type {Refused | null} */
    let refused = null;
    for (const envelope of envelopes) {
      try {
        const manifest = await this.#open(envelope);
        if (manifest.name !== survey.name) continue;
        if (manifest.origin !== collector) throw new Refused("wrong-origin", "it is for another collector");
        signed.push(manifest);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        refused ??= error;
      }
    }
    const state = await storage.read(), held = state ? this.#followed(state, survey.name).accepted : [];
    const isNew = signed.some(({ digest }) => !held.some((row) => row.digest === digest));
    if (isNew || (signed.length && date !== null)) {
      await storage.update((state) => {
        if (state?.consent !== "on") return undefined;
        // Unless it is signed, perhaps a captive portal said what time it is.
        if (date !== null && state.unsure) Object.assign(state, { unsure: false, freshFrom: Math.max(state.freshFrom, date) });
        refused = this.#follow(state, survey, signed, clock.now()) ?? refused;
        return state;
      });
    }
    return { signed: signed.length > 0, refused };
  }

  /** @param {State} state @param {Survey} survey @param {Opened[]} offered @param {number} now @returns {Refused | null} */
  #follow(state, survey, offered, now) {
    const row = this.#followed(state, survey.name), decided = state.decided.get(survey.name)?.epoch ?? -1;
    const held = row.accepted.flatMap(({ digest }) => this.#opened.get(digest) ?? []);
    row.highest = Math.max(row.highest, ...held.filter(({ start }) => start <= now).map(({ sequence }) => sequence));
    const candidates = new Map(held.filter((manifest) => !misfit(manifest, survey)).map((manifest) => [manifest.id, manifest]));
    /** @type {Refused | null} */
    let refused = null;
    /** @param {Opened} manifest @param {string} code @param {string} reason */
    const refuse = (manifest, code, reason) => { candidates.delete(manifest.id); refused = new Refused(code, reason); };
    for (const manifest of offered.toSorted((one, other) => one.sequence - other.sequence)) { // the newest is judged last
      const { id, sequence, envelope, ends } = manifest, twin = row.seen.get(sequence), reason = misfit(manifest, survey);
      refused = null;
      if (candidates.has(id)) continue;
      if (sequence < row.highest) refuse(manifest, "rolled-back", "a newer manifest was followed before");
      else if (twin && twin !== id) {
        if (row.proofs.length < 4 && envelope.length <= MAX_ANSWER) row.proofs.push(envelope); // kept, to show whom it deceives
        refuse(manifest, "equivocation", "two manifests were signed with the same sequence");
      } else if (reason) refuse(manifest, "not-as-declared", reason);
      else if (now >= ends) refuse(manifest, "ended", "its last epoch is over");
      else candidates.set(id, manifest);
      // One that is not pinned must not stand for one that is.
      if (sequence >= row.highest && reason !== NOT_PINNED && !twin) row.seen.set(sequence, id);
    }
    if (!candidates.size) for (const manifest of held) candidates.set(manifest.id, manifest);
    for (;;) {
      const chosen = chosenOf([...candidates.values()], now), fresh = chosen.find((manifest) => !held.includes(manifest));
      const own = ahead(chosen, decided, now) + (state.spent.get(survey.name) ?? 0);
      const others = [...state.followed].filter(([name, { key }]) => name !== survey.name && key === row.key)
        .reduce((sum, [name, { accepted }]) => sum + ahead(accepted, state.decided.get(name)?.epoch ?? -1, now), 0);
      const spent = spentIn(state) - (state.spent.get(survey.name) ?? 0);
      const all = own + others + spent, { lifetime } = this.#settings;
      if (fresh && (own > survey.total || all > lifetime)) {
        const isAll = all > lifetime, option = isAll ? "lifetimeEpsilon" : "max_total_epsilon";
        refuse(fresh, "over-budget", `its epochs ahead may bring the sum to ${(isAll ? all : own) / 1e9}, `
          + `and ${option} is ${(isAll ? lifetime : survey.total) / 1e9}`);
        continue;
      }
      row.accepted = chosen.map(({ envelope, digest, start, epoch_seconds, epochs, cost }) => (
        { envelope, digest, start, epoch_seconds, epochs, cost }));
      row.seen = new Map([...row.seen].sort(([one], [other]) => one - other).slice(-64));
      return refused;
    }
  }

  // ------------------------------------------------ the background: sending (D7, D8) and refreshing (D10)

  /** Do what is due: at most one request. Return the seconds until there is more to do, Infinity without consent. */
  async step() {
    const { storage, clock, spread } = this.#settings;
    await this.#scopes;
    const state = await storage.read();
    if (this.#refused || state?.consent !== "on") return Infinity;
    const nap = (await this.#launching(state, Math.min(spread, LAUNCH_SECONDS))) || (await this.#send(state))
      || (await this.#refresh()) || (await this.#pause());
    this.#backAt = { now: clock.now() + nap, running: clock.running() + nap };
    return nap;
  }

  /** Run in the background, until stop(). */
  start() {
    if (this.#running) return;
    const round = async () => {
      const running = this.#running;
      const nap = await this.step().catch(() => 60); // a disk that fails now may not in a minute
      if (this.#running !== running) return;
      await new Promise((/** @type {(_?: unknown) => void} */ resolve) => { this.#wake = resolve; setTimeout(resolve, Math.min(nap, 600) * 1000); });
      if (this.#running === running) round();
    };
    this.#running = {};
    round();
  }

  stop() { this.#running = null; this.#abort?.abort(); }
  /**
   * Return for how long all that was overdue at a start has still to wait: a start is never the moment of a request (D7).
   * @param {State} state
   * @param {number} most
   */
  async #launching(state, most) {
    const { storage, clock } = this.#settings, now = clock.now(), running = clock.running();
    const late = this.#backAt ? Math.max(now - this.#backAt.now, running - this.#backAt.running) : 0;
    if (!this.#launch || late > SUSPENDED_SECONDS) { // a suspended page comes back as one that was started
      const asks = [...this.#surveys.keys()].some((name) => state.asked.has(name) && this.#dueToAsk(state, name, now) <= now);
      const overdue = asks || state.outbox.some((row) => isDue(row, now));
      const left = overdue || (this.#launch?.left ?? 0) > 0 ? Math.min(state.launch ?? jitter() * most, most) : 0;
      this.#launch = { began: running, left, noted: 0 };
      if (left) await storage.update((kept) => kept ? { ...kept, launch: Math.min(left, kept.launch ?? left) } : undefined);
    }
    const launch = this.#launch, ran = running - launch.began, left = launch.left - ran;
    if (launch.left === 0) return 0;
    if (left <= 0) launch.left = 0;
    const note = launch.noted ? 2 * launch.noted : 1 / 4; // what is left is kept across starts, noted at times that double
    if (left <= 0 || ran >= note) {
      launch.noted = ran;
      await storage.update((kept) => kept ? { ...kept, launch: left <= 0 ? null : Math.min(left, kept.launch ?? left) } : undefined);
    }
    return left <= 0 ? 0 : Math.min(left, Math.max(note - ran, note / 2));
  }

  /** @param {State} state */
  async #send(state) {
    const { storage, clock, spread } = this.#settings;
    if (!state.outbox.some((row) => isDue(row, clock.now()))) return this.#tidy(state);
    if (globalThis.navigator?.onLine === false) return 60; // what cannot leave is no send
    /** @type {Waiting | undefined} */
    let claimed;
    await storage.update((kept) => { // counted before it leaves; consent is read again here (D7, D8)
      if (this.#refused || kept?.consent !== "on") return undefined;
      const now = clock.now(), due = kept.outbox.filter((row) => isDue(row, now)).sort((one, other) => one.due - other.due);
      for (const row of due) row.due = now + delay(spread, row.closes - now); // together they would be linked
      if (!(claimed = due[0])) return undefined;
      claimed.attempts++, claimed.unanswered++;
      Object.assign(claimed, { due: now + CLAIM_SECONDS, held: rested(claimed.attempts, now) });
      return kept;
    });
    const sent = /** @type {Waiting | undefined} */ (claimed);
    if (!sent) return 0;
    const body = concat([0x91], sent.envelope);
    const headers = { "Content-Type": "application/msgpack" };
    const answer = await this.#request("/v1/reports", MAX_ANSWER, { method: "POST", headers, body });
    await storage.update((kept) => {
      const place = kept?.outbox.findIndex((row) => row.name === sent.name && row.epoch === sent.epoch) ?? -1;
      if (!kept || place < 0) return undefined; // withdrawn meanwhile
      const became = nextStep(kept.outbox[place], answer, clock.now());
      if (became) settle(kept, place, became, clock.now());
      return kept;
    });
    return 0.001;
  }

  /**
   * Drop what was sent for the last time by a page that was closed then; begin waits anew that a clock put back made long.
   * @param {State} state
   */
  async #tidy(state) {
    const { storage, clock } = this.#settings, now = clock.now();
    /** @param {Waiting} row */
    const isOver = (row) => row.attempts >= MOST_SENDS && row.due <= now;
    /** @param {Waiting} row */
    const isAstray = (row) => row.due > Math.max(now + (1 + JITTER) * DAY, row.starts);
    if (!state.outbox.some((row) => isOver(row) || isAstray(row))) return 0;
    await storage.update((kept) => {
      if (!kept) return undefined;
      for (const row of kept.outbox.filter(isAstray)) row.due = Math.max(now, row.held = rested(row.attempts, now));
      for (const row of kept.outbox.filter(isOver)) settle(kept, kept.outbox.indexOf(row), "unanswered", now);
      return kept;
    });
    return 0;
  }

  /** @param {State} state @param {string} name @param {number} now */
  #dueToAsk(state, name, now) {
    const survey = this.#surveys.get(name), row = state.asked.get(name);
    if (!survey || !isCovered(state, survey)) return Infinity;
    if (row?.day === Math.floor(now / DAY) && row.requests >= MOST_REQUESTS_A_DAY) return (row.day + 1 + JITTER * row.luck) * DAY;
    return row?.digest === survey.digest && row.due <= now + (1 + JITTER) * DAY ? row.due : now; // or the clock was put back
  }

  async #refresh() {
    const { storage, clock, spread } = this.#settings;
    for (const [name, survey] of this.#surveys) {
      const { digest } = survey, now = clock.now(), day = Math.floor(now / DAY), state = await storage.read();
      let asks = false;
      if (!state || this.#dueToAsk(state, name, now) > now) continue;
      if (globalThis.navigator?.onLine === false) return 60;
      await storage.update((kept) => { // counted before it leaves
        if (this.#refused || kept?.consent !== "on" || this.#dueToAsk(kept, name, now) > now) return undefined;
        const row = kept.asked.get(name), requests = row?.day === day ? row.requests : 0, luck = jitter();
        asks = row?.digest === digest; // the very first request is not at once
        const failures = (asks && row?.failures) || 0, backoff = Math.min(DAY, 60 * 2 ** failures) * (1 + JITTER * luck);
        const due = now + (asks ? backoff : luck * Math.min(spread, LAUNCH_SECONDS));
        kept.asked.set(name, { digest, failures: failures + +asks, due, day, requests: requests + +asks, luck });
        return kept;
      });
      if (!asks) continue;
      const answer = await this.#request(`/v1/surveys/${name}/manifests`, MAX_MANIFESTS, {});
      if (await this.#judgeManifests(survey, answer)) {
        await storage.update((kept) => {
          if (kept) Object.assign(kept.asked.get(name) ?? {}, { failures: 0, due: clock.now() + DAY * (1 + JITTER * jitter()) });
          return kept ?? undefined;
        });
      }
      return 0.001;
    }
    return 0;
  }

  /**
   * Offer an answer's manifests; return whether a day may pass before the next request.
   * @param {Survey} survey
   * @param {Answer | null} answer
   */
  async #judgeManifests(survey, answer) {
    const { fetched } = this.#faults, { name } = survey;
    fetched.set(name, null);
    if (!answer) {
      fetched.set(name, "no answer came to this page: the collector is away, or its upload_origins does not name "
        + `${globalThis.location?.origin ?? "this origin"}, or the page's connect-src does not name the collector`);
      return false;
    }
    try {
      demand(answer.status === 200, `no manifests, but status ${answer.status}`);
      const date = Date.parse(answer.date ?? "") / 1000;
      const { signed, refused } = await this.#offer(survey, offeredIn(answer.body), Number.isFinite(date) ? date : null);
      if (refused) fetched.set(name, `the collector's was refused as ${refused.message}`);
      else if (!signed) fetched.set(name, "the collector offered none");
      if (signed || (refused && refused.code !== "malformed")) return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      fetched.set(name, `the collector's answer was refused as ${error.message}`);
    }
    return answer.body.length > MAX_ANSWER; // whoever cannot sign costs little
  }

  async #pause() {
    const { storage, clock } = this.#settings, now = clock.now(), state = await storage.read();
    if (state?.consent !== "on") return Infinity;
    const sends = state.outbox.map((row) => Math.max(row.due, row.held));
    const asks = [...this.#surveys.keys()].map((name) => this.#dueToAsk(state, name, now));
    return Math.max(0, Math.min(...sends, ...asks) - now);
  }

  /**
   * Make one request that tells nothing but itself; return its answer, or null if none came.
   * @param {string} path
   * @param {number} most
   * @param {RequestInit} given
   * @returns {Promise<Answer | null>}
   */
  async #request(path, most, given) {
    const { collector, fetch } = this.#settings; // called as a plain function: browsers want no other receiver
    const abort = this.#abort = new AbortController(), timer = setTimeout(() => abort.abort(), REQUEST_SECONDS * 1000);
    try {
      const answer = await fetch(`${collector}${path}`, { ...given, mode: "cors", credentials: "omit", cache: "no-store",
        redirect: "error", referrerPolicy: "no-referrer", signal: abort.signal });
      const reader = answer.body?.getReader();
      let body = new Uint8Array();
      for (let part = await reader?.read(); reader && part && !part.done; part = await reader.read()) {
        body = concat(body, part.value);
        if (body.length > most) { await reader.cancel(); return { status: 0, type: "", body }; }
      }
      const [type, date, retry] = ["content-type", "date", "retry-after"].map((name) => answer.headers.get(name));
      return { status: answer.status, type: type ?? "", date, retry, body };
    } catch { return null; } finally { clearTimeout(timer); }
  }
}

/** @param {any} error @returns {Outcome} */
const notRecorded = (error) => ({ status: "not-recorded", epoch: null, from: error.from ?? null,
  why: error instanceof NotRecorded ? error.message : `the browser keeps nothing (${error.name})` });

/** @param {State} state */
const spentIn = (state) => [...state.spent.values()].reduce((sum, cost) => sum + cost, 0);

/** @param {State} state @param {Survey} survey */
const isCovered = (state, { name, digest, bounds }) => state.covered.some((scope) => scope.name === name && scope.digest === digest
  && bounds.every((bound, i) => BigInt(bound) <= BigInt(scope.bounds[i])));

const NOT_PINNED = "it is none of those that the app accepts by their ids";

/** Return why a manifest is not what the app declared (D1, D2), or "". @param {Manifest} manifest @param {Survey} survey */
function misfit(manifest, survey) {
  if (manifest.name.startsWith("simulated-")) return "it is simulated";
  if (survey.pinned_ids && !survey.pinned_ids.includes(manifest.id)) return NOT_PINNED;
  if (manifest.question !== survey.question) return "the question differs";
  if (JSON.stringify(manifest.categories) !== JSON.stringify(survey.categories)) return "the categories differ";
  const { kind, mechanism } = manifest, isAlike = kind !== "mean" && (mechanism.parts?.length ?? 1) === 1;
  if (!isAlike && !survey.mechanisms?.includes(kind)) return "its mechanism is not declared";
  if (!atMost(exact(manifest.epsilon), exact(survey.max_epsilon))) return "its epsilon exceeds the app's";
  if (!atMost(exact(manifest.delta), exact(survey.max_delta))) return "its delta exceeds the app's";
  if (manifest.epoch_seconds < survey.min_epoch_seconds) return "its epochs are too short";
  if (manifest.epoch_seconds > survey.max_epoch_seconds) return "its epochs are too long";
  return manifest.grace_seconds > survey.max_grace_seconds ? "its reports would be kept too long" : "";
}

/**
 * Return the manifests to follow, the older first: the newest that has begun, and the next to begin.
 * @param {Opened[]} candidates
 * @param {number} now
 */
function chosenOf(candidates, now) {
  const sorted = candidates.toSorted((one, other) => one.sequence - other.sequence);
  const begun = sorted.filter(({ start }) => start <= now).slice(-1);
  const coming = sorted.filter(({ start, sequence }) => start > now && sequence > (begun[0]?.sequence ?? -1));
  return [...begun, ...coming.sort((one, other) => one.start - other.start || other.sequence - one.sequence).slice(0, 1)];
}

/**
 * Return what the epochs ahead of these manifests, the older first, may cost: each until the next one begins (D3).
 * @param {Accepted[]} manifests
 * @param {number} decided
 * @param {number} now
 */
function ahead(manifests, decided, now) {
  return manifests.reduce((sum, { start, epoch_seconds, epochs, cost }, i) => {
    const first = Math.max(0, decided + 1, Math.floor((now - start) / epoch_seconds));
    const end = Math.ceil(((manifests[i + 1]?.start ?? Infinity) - start) / epoch_seconds);
    return sum + Math.max(0, Math.min(epochs, end) - first) * cost;
  }, 0);
}

/** @param {number} spread @param {number} left */
const delay = (spread, left) => jitter() * (left > 0 ? Math.min(spread, left / 2) : spread);
/** @param {Waiting} row @param {number} now */
const isDue = (row, now) => row.attempts < MOST_SENDS && row.due <= now && row.held <= now;
/** Return before when no send may follow so many sends: from the third on they are a day apart (D8). @param {number} sends @param {number} now */
const rested = (sends, now) => (sends >= 2 ? now + DAY : 0);

/** @param {State} state @param {number} place @param {string} became @param {number} now */
function settle(state, place, became, now) {
  const [{ name, epoch }] = state.outbox.splice(place, 1); // its bytes go at once; the decision stays, with its day (D4, D9)
  const decided = state.decided.get(name);
  if (decided?.epoch === epoch) Object.assign(decided, { became, day: Math.floor(now / DAY) });
}

/** Give a report that was sent its next time; or return what became of it. @param {Waiting} row @param {Answer | null} answer @param {number} now */
function nextStep(row, answer, now) {
  const code = verdictOf(answer), remedy = remedyOf(code), luck = jitter();
  if (code !== null) row.unanswered--;
  if (code === "accepted" || code === "duplicate") return code;
  if (remedy === "too late") return row.unanswered ? "may-have-been-counted" : code;
  if (remedy === "drop") return row.unanswered && code === "not-enrolled" ? "may-have-been-counted" : code;
  if (row.attempts >= MOST_SENDS) return "unanswered";
  const asked = code === null ? 0 : retryAfter(answer?.retry) * (1 + JITTER * jitter());
  let later = now + Math.max(Math.min(3600, 30 * 2 ** (row.attempts - 1)) * (1 - luck / 2), asked);
  if (code === "too-early" && row.attempts > 3) later = Math.max(later, row.starts);
  if (row.attempts >= 2) later = Math.max(later, now + DAY * (1 + JITTER * luck));
  row.due = later;
  row.held = row.attempts >= 2 || code !== null ? later : 0; // an answer asks not to come before its time; silence does not
  return null;
}
