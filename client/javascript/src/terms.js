/** The three lines that sum up a survey's terms, in the words of the Python device: on chance, on what a response reveals, and on when one is sent. */

import { ceilDiv, exact, expEnclosure } from "./exact.js";

/** @import { Fraction } from "./exact.js" */
/** @import { Manifest } from "./manifests.js" */
/** @typedef {string} Language A tag such as "de-CH"; English stands in for what is neither German nor French. */

const ENGLISH = {
  lies: "About {lies}, dice send another answer instead of yours; nobody can tell when.",
  hit: "Dice choose what is sent: {sent}. Your answer is included about {hit}; nobody can tell when.",
  miss: "Dice choose what is sent: {sent}. Your answer is included about {hit}, and any other answer about {miss}; nobody can tell when.",
  dice: "Dice choose which of {count} responses is sent. Your answer makes some of them more likely and none impossible, so nobody can "
    + "tell which answer is yours.",
  set: "a set of answers",
  groups: "one or more groups of neighbouring answers, whose size is drawn at random",
  times: "{count} times in {base}",
  odds: "A response is at most {odds} times as likely with your answer as with any other.",
  vast: "A response may be more than a million times as likely with your answer as with another: it hides almost nothing.",
  once: "Nothing is sent unless you agree, and then only once; you can stop before that.",
  often: "Nothing is sent unless you agree. Then, until you stop, at most one response is sent every {length}, {count} in all.",
  any: "Dice choose what is sent. The response may stand for your answer or for another.",
  guess: "A guess about your answer that is right half the time becomes right at most {percent} of the time.",
  ever: "Nothing is sent unless you agree. Then, at most one response is sent every {length}. You can stop at any time.",
};
/** @typedef {typeof ENGLISH} Texts */
/** @type {Record<string, Texts>} */
const CATALOGUES = {
  en: ENGLISH,
  de: {
    lies: "Etwa {lies} sendet der Zufall statt Ihrer Antwort eine andere; niemand erkennt, wann.",
    hit: "Der Zufall wählt, was gesendet wird: {sent}. Ihre Antwort ist etwa {hit} dabei; niemand erkennt, wann.",
    miss: "Der Zufall wählt, was gesendet wird: {sent}. Ihre Antwort ist etwa {hit} dabei, jede andere etwa {miss}; niemand erkennt, wann.",
    dice: "Der Zufall wählt, welche von {count} Meldungen gesendet wird: Ihre Antwort macht einige davon wahrscheinlicher und keine "
      + "unmöglich, sodass niemand sie erkennt.",
    set: "eine Menge von Antworten",
    groups: "eine oder mehrere Gruppen benachbarter Antworten, deren Größe gezogen wird",
    times: "in {count} von {base} Fällen",
    odds: "Was gesendet wird, ist mit Ihrer Antwort höchstens {odds}-mal so wahrscheinlich wie mit jeder anderen.",
    vast: "Was gesendet wird, kann mit Ihrer Antwort mehr als eine Million Mal so wahrscheinlich sein wie mit einer anderen: Es verbirgt "
      + "fast nichts.",
    once: "Ohne Ihre Zustimmung wird nichts gesendet, und danach nur einmal; vorher können Sie es beenden.",
    often: "Ohne Ihre Zustimmung wird nichts gesendet; danach höchstens eine Meldung je {length}, insgesamt {count}, bis Sie es beenden.",
    any: "Der Zufall wählt, was gesendet wird: Das kann für Ihre Antwort stehen oder für eine andere.",
    guess: "Eine Vermutung über Ihre Antwort, die in der Hälfte der Fälle stimmt, stimmt danach in höchstens {percent} der Fälle.",
    ever: "Ohne Ihre Zustimmung wird nichts gesendet; danach höchstens eine Meldung je {length}. Sie können es jederzeit beenden.",
  },
  fr: {
    lies: "Environ {lies}, le hasard envoie une autre réponse à la place de la vôtre ; personne ne peut savoir quand.",
    hit: "Le hasard choisit ce qui est envoyé : {sent}. Votre réponse en fait partie environ {hit} ; personne ne peut savoir quand.",
    miss: "Le hasard choisit ce qui est envoyé : {sent}. Votre réponse en fait partie environ {hit}, toute autre environ {miss} ; personne "
      + "ne peut savoir quand.",
    dice: "Le hasard choisit lequel de {count} envois part : votre réponse rend certains plus probables et aucun impossible, si bien que "
      + "personne ne peut la connaître.",
    set: "un ensemble de réponses",
    groups: "un ou plusieurs groupes de réponses voisines, d'une taille tirée au sort",
    times: "{count} fois sur {base}",
    odds: "Ce qui est envoyé est au plus {odds} fois aussi probable avec votre réponse qu'avec toute autre.",
    vast: "Ce qui est envoyé peut être plus d'un million de fois aussi probable avec votre réponse qu'avec une autre : cela ne cache "
      + "presque rien.",
    once: "Rien n'est envoyé sans votre accord, et ensuite une seule fois ; vous pouvez arrêter avant.",
    often: "Rien n'est envoyé sans votre accord ; ensuite, au plus un envoi par {length}, {count} en tout, jusqu'à ce que vous arrêtiez.",
    any: "Le hasard choisit ce qui est envoyé : cela peut représenter votre réponse, ou une autre.",
    guess: "Une supposition sur votre réponse, juste une fois sur deux, devient juste dans au plus {percent} des cas.",
    ever: "Rien n'est envoyé sans votre accord ; ensuite, au plus un envoi par {length}. Vous pouvez arrêter à tout moment.",
  },
};

/** Return the code of a catalogue that a tag has. @param {Language} tag */
export const languageOf = (tag) => {
  const [code] = tag.toLowerCase().split("-");
  return Object.hasOwn(CATALOGUES, code) ? code : "en";
};

/** @param {string} text @param {Record<string, string>} values */
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

/** @param {bigint} numerator @param {bigint} denominator */
const halfEven = (numerator, denominator) => {
  const whole = numerator / denominator, twice = 2n * (numerator % denominator);
  return whole + BigInt(twice > denominator || (twice === denominator && whole % 2n === 1n));
};

/** Return a length of time for "every": "week", "2 weeks". @param {number} seconds @param {string} code */
function lengthOf(seconds, code) {
  const units = /** @type {const} */ ([["week", 604_800], ["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]]);
  const [unit, size] = units.find(([, length]) => seconds % length === 0) ?? ["second", 1];
  return new Intl.NumberFormat(code, { style: "unit", unit, unitDisplay: "long" }).format(seconds / size)
    .replaceAll(/\s/g, " ").replace(/^1 /, "");
}

/** Return how much more likely a response is at most with one answer than with another. @param {Fraction} odds @param {string} code */
function likely([p, q], code) {
  const { vast, odds } = CATALOGUES[code];
  if (p > 10n ** 6n * q) return vast;
  const places = p < 10n * q ? 2 : p < 100n * q ? 1 : 0;
  const number = Number(ceilDiv(p * 10n ** BigInt(places), q)) / 10 ** places;
  return filled(odds, { odds: number.toLocaleString(code, { minimumFractionDigits: places }) });
}

/** @param {Manifest} manifest @param {Language} language @returns {string[]} */
export function linesOf({ kind, mechanism, epochs, epoch_seconds }, language) {
  const code = languageOf(language), texts = CATALOGUES[code], { responses, hit, miss, odds } = mechanism;
  /** A probability as a number of times in 10, 100, 1,000 and so on: within a tenth. @param {Fraction} share */
  const times = ([p, q]) => {
    let base = 10n;
    for (; base < 10n ** 6n; base *= 10n) {
      const error = halfEven(p * base, q) * q - p * base, least = p < q - p ? p : q - p;
      if ((error < 0n ? -error : error) * 10n <= least * base) break;
    }
    return filled(texts.times, { count: halfEven(p * base, q).toLocaleString(code), base: base.toLocaleString(code) });
  };
  const count = responses.toLocaleString(code), sent = kind === "levels" ? texts.groups : texts.set;
  const chance = !hit ? filled(texts.dice, { count })
    : kind === "randomised-response" ? filled(texts.lies, { lies: times([hit[1] - hit[0], hit[1]]) })
      : filled(miss ? texts.miss : texts.hit, { sent, hit: times(hit), miss: miss ? times(miss) : "" });
  const often = { length: lengthOf(epoch_seconds, code), count: epochs.toLocaleString(code) };
  return [chance, likely(odds, code), epochs === 1 ? texts.once : filled(texts.often, often)];
}

/**
 * Return the lines of what an app declares, of which no signed survey is known yet: the most that one may ever reveal.
 * @param {{ max_epsilon: string, max_delta: string, min_epoch_seconds: number }} declaration
 * @param {Language} language
 */
export function declaredLinesOf({ max_epsilon, max_delta, min_epoch_seconds }, language) {
  const code = languageOf(language), { any, guess, ever } = CATALOGUES[code], [, high] = expEnclosure(exact(max_epsilon), 128n);
  const one = 1n << 128n, [a, b] = exact(max_delta), promille = ceilDiv(1000n * (high * b + a * one), (high + one) * b);
  const percent = promille > 999n ? "100%" : `${(Number(promille) / 10).toLocaleString(code, { minimumFractionDigits: 1 })}%`;
  const most = a ? filled(guess, { percent }) : likely([high, one], code); // with a delta, odds have no bound
  return [any, most, filled(ever, { length: lengthOf(Math.max(1, min_epoch_seconds), code) })];
}
