/** What a collector answers, and what a device does then (D8). */

import { fromUtf8 } from "./bytes.js";
import { isUint } from "./exact.js";

/** @import { Bytes } from "./bytes.js" */
/** @typedef {{ status: number, type: string, body: Bytes, date?: string | null, retry?: string | null }} Answer */

/**
 * What a device does with a report then, and the status of a whole request that is refused so.
 * @type {Record<string, ["drop" | "later" | "too late", number?]>}
 */
const CODES = {
  malformed: ["drop", 400], "bad-key": ["drop"], "bad-signature": ["drop"], "not-enrolled": ["drop"], "unknown-survey": ["later"],
  "out-of-domain": ["drop"], "too-early": ["later"], "epoch-closed": ["too late"], "survey-ended": ["too late"],
  "report-conflict": ["drop"], "too-large": ["drop", 413], "unsupported-media-type": ["drop", 415], timeout: ["later", 408],
  "rate-limited": ["later", 429], overloaded: ["later", 503], "storage-full": ["later", 507], "store-failed": ["later", 503],
  unauthorised: ["later", 401], forbidden: ["later", 403], "not-found": ["later", 404], "bad-query": ["later", 400],
  "too-few-reports": ["later", 409],
};

/** @param {string | null} code */
export const remedyOf = (code) => (code !== null && Object.hasOwn(CODES, code) ? CODES[code][0] : null);

/**
 * Return a JSON object of which no key is repeated and all numbers are written as whole ones, if that is asked for; else null.
 * @param {Bytes} bytes
 * @param {boolean} whole
 * @returns {Record<string, any> | null}
 */
function strictJson(bytes, whole) {
  try {
    const text = fromUtf8(bytes), read = JSON.parse(text), strings = /"(?:[^"\\]|\\.)*"/g;
    /** @param {any} value @returns {number} */
    const keys = (value) => (value === null || typeof value !== "object" ? 0
      : Object.values(value).reduce((sum, inner) => sum + keys(inner), Array.isArray(value) ? 0 : Object.keys(value).length));
    const bare = text.replaceAll(strings, '"'), written = bare.match(/"\s*:/g)?.length ?? 0;
    return !Array.isArray(read) && keys(read) === written && !(whole && /[0-9][.eE]/.test(bare)) ? read : null;
  } catch { return null; }
}

/**
 * Return "accepted", "duplicate", a known code, or null: then the fate of the one report that was sent is not known.
 * @param {Answer | null} answer
 * @returns {string | null}
 */
export function verdictOf(answer) {
  const read = answer && strictJson(answer.body, answer.status === 200);
  if (!read) return null;
  /** @param {unknown} code */
  const known = (code) => (typeof code === "string" && Object.hasOwn(CODES, code) ? code : null);
  if (answer.status !== 200) {
    const isProblem = answer.type.split(";")[0].trim().toLowerCase() === "application/problem+json";
    const code = known(isProblem && /^urn:deniable:error:(.+)$/.exec(read.type)?.[1]);
    return code && CODES[code][1] === answer.status ? code : null;
  }
  const { accepted, duplicates, refused } = read;
  if (Object.keys(read).length !== 3 || !isUint(accepted) || !isUint(duplicates) || !Array.isArray(refused)) return null;
  if (accepted + duplicates + refused.length !== 1) return null;
  if (!refused.length) return accepted ? "accepted" : "duplicate";
  return refused[0] && Object.keys(refused[0]).length === 2 && refused[0].index === 0 ? known(refused[0].code) : null;
}

/** Return the seconds that a collector asks for, as one of three, so that it cannot mark a device by them. @param {string | null} [text] */
export const retryAfter = (text) => (
  text && /^[0-9]+$/.test(text) ? [60, 600, 3600].find((coarse) => Number(text) <= coarse) ?? 3600 : 0);
