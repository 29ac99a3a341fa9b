/** Exact numbers: no float decides about privacy. */

import { demand } from "./bytes.js";

/** @typedef {[bigint, bigint]} Fraction A numerator, and a denominator above 0. */

export const WORD = 64n, GRID = 1n << WORD, NANO = 10n ** 9n;

/** Of numbers from 0 on. @param {bigint} numerator @param {bigint} denominator */
export const ceilDiv = (numerator, denominator) => (numerator + denominator - 1n) / denominator;

/** Return a decimal text as a fraction. @param {unknown} text @returns {Fraction} */
export function exact(text) {
  demand(typeof text === "string" && /^(0|[1-9][0-9]{0,3})(\.[0-9]{0,17}[1-9])?$/.test(text), "not a plain decimal");
  const [whole, part = ""] = text.split(".");
  return [BigInt(whole + part), 10n ** BigInt(part.length)];
}

/** @param {unknown} value @returns {value is number} */
export const isUint = (value, least = 0, most = Number.MAX_SAFE_INTEGER) => (
  typeof value === "number" && Number.isInteger(value) && least <= value && value <= most);
/** @param {Fraction} one @param {Fraction} other */
export const atMost = ([a, b], [c, d]) => a * d <= c * b;
/** @param {Fraction} fraction @param {bigint} unit */
export const scaledUp = ([a, b], unit) => ceilDiv(a * unit, b);

/**
 * Return low <= e^(numerator/denominator) 2^bits <= high; docs/mathematics.md, section 2.
 * @param {Fraction} exponent
 * @param {bigint} bits
 * @returns {[bigint, bigint]}
 */
export function expEnclosure([numerator, denominator], bits) {
  let halvings = 0n, low = 0n, high = 0n, i = 0n;
  while (2n * numerator > denominator << halvings) halvings++;
  const working = bits + 2n * halvings + 16n, divisor = denominator << halvings;
  let termLow = 1n << working, termHigh = termLow;
  while (termHigh > 1n) {
    low += termLow, high += termHigh, i++;
    termLow = (termLow * numerator) / (divisor * i);
    termHigh = ceilDiv(termHigh * numerator, divisor * i);
  }
  high += 2n * termHigh; // the tail is at most twice its first term, the exponent being at most 1/2
  for (; halvings > 0n; halvings--) {
    low = (low * low) >> working;
    high = ceilDiv(high * high, 1n << working);
  }
  return [low >> (working - bits), ceilDiv(high, 1n << (working - bits))];
}

/** Return ln(odds) in units of 1e-9, rounded up: the float only says where to start. @param {Fraction} odds */
export function nanoCost([p, q]) {
  let cost = BigInt(Math.max(0, Math.floor(Math.log(Number((p << WORD) / q) / 2 ** 64) * 1e9) - 9));
  while (expEnclosure([cost, NANO], 128n)[0] * q < p << 128n) cost++;
  return Number(cost);
}
