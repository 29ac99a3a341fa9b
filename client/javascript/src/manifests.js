/** Manifests: signed surveys, read strictly and certified before anything follows from them (D2). */

import { decode, demand, encode, fieldsOf, isBytes, of, Refused, utf8 } from "./bytes.js";
import { exact, isUint, nanoCost } from "./exact.js";
import { mechanismOf } from "./mechanisms.js";
import { sha256, verify } from "./signing.js";

/** @import { Bytes } from "./bytes.js" */
/** @import { Mechanism } from "./mechanisms.js" */

/**
 * A survey as it was signed; names are the protocol's, but `mechanism`, which is certified, and `kind`, its name. `ends` is when
 * its last epoch does, and `cost` the epsilon of a report in units of 1e-9.
 * @typedef {object} Manifest
 * @property {string} id
 * @property {string} name
 * @property {number} sequence
 * @property {string} question
 * @property {string[]} categories
 * @property {string} kind
 * @property {Mechanism} mechanism
 * @property {string} epsilon
 * @property {string} delta
 * @property {number} start
 * @property {number} epoch_seconds
 * @property {number} epochs
 * @property {number} grace_seconds
 * @property {string} origin
 * @property {number} ends
 * @property {number} cost
 */

const MAX_MANIFEST = 1 << 20;

const KEYS = ["version", "name", "sequence", "nonce", "question", "categories", "mechanism", "epsilon", "delta", "repeat", "start",
  "epoch_seconds", "epochs", "grace_seconds", "origin", "enrolment", "minimum_reports"];

// So many code points are not allowed, so many then are, by turns, to the base 26: those of Unicode 14 without Cc, Cf, Cs, Zl, Zp, with
// the joiners. Browsers differ about later characters.
const RUNS = (
  "BgDrBhNBBbmCGEHBBBUBPhBBmCByCDBCdIBbEGRWBHkBBwCChCDxOChCBxCPBBcCBBLFBfJCwBGfBICCCWBHBBDECJCCCEIBECBFCZCDBGECCWBHBCBCBCCB"
  + "BFECCDDBHEBBHRKDBJBDBWBHBCBFCKBDBDCBPECMHHBDBICCCWBHBCBFCJCCCDHDECBFCSKCBGDDBEDCBBBCDCDDDMEFDDBECBGBOVFNBDBXBQCJBDBEHCBD"
  + "CBCECKHWBDBXBKBFCJBDBEHCGCBECKBCNNBDBBzBDBGEQCBaBDBSDYBJBBCHDBEGBBBIGKCDMCgEBdBlCBBBFBYBBBXCFBBBGCKCEBgCuBBkEBnBBkBPBNBl"
  + "HqBBFBCOnBECHBBBECBpBECBhBECHBBBECPBCfBECCpCBgDBaGDiCGCZtDDlHWJYJUMNBDBCMDqCKGKGOBLGDlHBrFCsKBfBMEMEBDBqCFLBsEBaGLDCkCCn"
  + "BBdCLGKGOCBfBxCzDBvBEmICiDPDCiHBrCLIBrFUoCGCBmCGCIBBBBBBBBfCCbBPBOCGBTCDBJBLBCCYHBxQCCBbBNDBhPBhPFkEZnZLVCrsCBgBNlFBtBBF"
  + "BCCeHCOYJHBHBHBHBHBHBHBHBEwBiBaBDlMIgBaMECmBDiCDzFBrBDqBDgMBvBBrirDCdJNkUHcIHvFCBBBFYChDKGCeICsIMGEmLBeDDaBLEBhBCdJOCKCD"
  + "zYBcKGCGCGJHBHBCiEEwCKGQnsMXEBxDayKagCEcBmHMFFBaBFBBBCBCBEvQRdCCcHBBgBqGBzBTBEEFBFfEHiDGCGCGCDDHBHNCCMBBaBTBCBPCOBiEtFDE"
  + "BtDDkBNDBBvBuFaBdDBxPBcEBkJBeFBrFBeBBlEOBqGcCKGBkEBkEBoICaLMBPBHBCBLBPBHBCCpLzJWKIYGBBqBJCrGCBBBsBCDBCXBCuIJBwTBCFBhDBbF"
  + "BCmCeEUCByBCFIBDBBdCDEKHJHCmBgBnEMJCcDBdCBbFBaHEMHDcCvCdBzNBzHBuIKLiBfBBqBDCCDaBoIBqWBaBmBcUXJDaEBkJCkBFNZHKGCbBSIBnJDsB"
  + "ULSBBsCnHBBBEBPBLGChFKGEBICCCWBHBCBFBKCCCDCBGBFHCHDFFjDoBFBeCuIKGkCcCBmBiCrLKGNTCgGKCcBbCPEXHdCiDwDfMICBCIBCBBeBCCMJKCsI"
  + "CBuCLBbCuIDfNCvKdJBBtBOKBdDBgCWBOCvHBCBBsDBBCBJIKGGBCBBlBCBGHKLyZHbBPByNBjnDyEhBFLHoDxkDvNBpfFztWlMubVxHBfBKEDdBKGBeCGKC"
  + "sKKBHBVFTBamDnDxCxECfHRCmFLCOJcaIBvqBqJNfrEBHBCBLfBtDREIPgDkuEdFNDJHKCEGyyBuCXJEmCiJmKBnCCwIEiVCsFyUMDjJZFfDhBCtBCCBCCCE"
  + "BMBBBHBCnBECIBHBBcBEBFBBDHBNcCLgCBbaPFBPBqmBfIrHBRCHBCBFIfBtDOCKECMiBfRCgFBBwaHBEBCBPBHpCQBpCyEKECBefCqCyCjHmEBBbBCBBCBB"
  + "KBEBBBBGBEBBBBBBDBCBBCBBBBBBBBBBCBBCEBHBEBEBBBKBRFDBFBRCaCKkBsEDwMPCPBPBBlKGsCeBdNBsEJHCOGFyBlwFQDNDEmMDlHMEBPMECeIKGBoI"
  + "BeCCDaNcMOCFDFDHJBdDLFGKKGIIHJFrBCdBlKBnqClfcBgGdtHIoCInqOLblEpjUwCfyHhzBotmrJgDsfoDsyoCDsyo"
);
/** @type {number[]} */
const BOUNDS = [];
for (const run of RUNS.match(/[A-Z][a-z]*/g) ?? []) {
  const length = [...run.toLowerCase()].reduce((number, letter) => 26 * number + letter.charCodeAt(0) - 97, 0);
  BOUNDS.push(length + (BOUNDS.at(-1) ?? 0));
}
const INVISIBLE = /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu;

/** @param {string} character */
function isAllowed(character) {
  let low = 0, high = BOUNDS.length; // how many bounds are at most its code point
  for (const point = character.codePointAt(0) ?? 0; low < high;) {
    const middle = (low + high) >> 1;
    if (BOUNDS[middle] <= point) low = middle + 1; else high = middle;
  }
  return low % 2 === 1;
}

/** @param {unknown} text @param {number} most */
function checkText(text, most) {
  demand(typeof text === "string" && text && text === text.trim() && text === text.normalize("NFC"), "a text in another form");
  demand([...text].every(isAllowed), "a text that hides something, or is newer than Unicode 14");
  demand(/[^\p{M}\p{Z}\u2800]/u.test(text.replace(INVISIBLE, "")), "a text of which nothing is seen");
  demand(utf8(text).length <= most, "a text that is too long");
}

/**
 * Return what two texts that look the same have in common: all but the invisible, NFKC and case folding, of which ı is not an i.
 * @param {string} text
 */
const folded = (text) => text.replace(INVISIBLE, "").normalize("NFKC").replaceAll("ı", "\0").toLowerCase().toUpperCase();

/** Check that the answers to a survey of a mean are numbers in their one form, at equal steps. @param {string[]} categories */
function checkNumbers(categories) {
  const form = /^(?!-0$)-?(0|[1-9][0-9]{0,14})(\.[0-9]{0,5}[1-9])?$/;
  demand(categories.every((category) => form.test(category)), "answers that are no numbers");
  const values = categories.map((category) => {
    const [whole, part = ""] = category.replace("-", "").split(".");
    return BigInt(whole + part.padEnd(6, "0")) * (category.startsWith("-") ? -1n : 1n);
  });
  const step = values[1] - values[0], least = values[0], last = values[values.length - 1];
  demand(step > 0n && values.every((value, i) => value === values[0] + BigInt(i) * step), "numbers that do not rise in equal steps");
  demand([-least, least, -last, last].every((size) => size <= 10n ** 12n * step), "numbers so large that floats cannot tell them apart");
}

/**
 * Verify a manifest's envelope, then read it. Nothing but the frame of two byte strings is looked at before.
 * @param {Bytes} envelope
 * @param {Bytes} authority
 * @returns {Promise<Manifest>}
 */
export async function openManifest(envelope, authority) {
  demand(envelope.length <= MAX_MANIFEST + 80, "a manifest has at most 1 MiB");
  const framed = decode(envelope, 1);
  demand(Array.isArray(framed) && framed.length === 2 && isBytes(framed[0]) && isBytes(framed[1], 64), "not an envelope");
  const [payload, signature] = framed;
  await verify(authority, "deniable/manifest/v1\0", payload, signature);
  demand(payload.length <= MAX_MANIFEST, "a manifest has at most 1 MiB");
  const manifest = fieldsOf(decode(payload, 8, 64n), ...KEYS);
  const { name, sequence, question, categories, start, epoch_seconds, epochs, grace_seconds, origin, minimum_reports } = manifest;
  demand(manifest.version === 1, "another version of the protocol");
  demand(typeof name === "string" && /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/.test(name), "not a name");
  demand(isUint(sequence, 0, 2 ** 32 - 1) && isBytes(manifest.nonce, 16), "not a sequence, or nonce");
  checkText(question, 1024);
  demand(Array.isArray(categories) && 2 <= categories.length && categories.length <= 65_536, "not 2 to 65,536 categories");
  categories.forEach((category) => checkText(category, 256));
  demand(new Set(categories.map(folded)).size === categories.length, "two categories look the same");
  demand(isUint(start) && isUint(epoch_seconds, 1) && isUint(epochs, 1, 10_000) && isUint(grace_seconds), "not a schedule");
  const ends = start + epochs * epoch_seconds;
  demand(ends + grace_seconds < 2 ** 53, "the last instant is out of reach");
  demand(isOrigin(origin), "not an origin");
  demand(isUint(minimum_reports) || (typeof minimum_reports === "bigint" && !(minimum_reports >> 63n)), "not a number of reports");
  if (of(manifest.repeat, "kind") !== "fresh") throw new Refused("unsupported", "responses that are kept");
  if (of(manifest.enrolment, "mode") !== "open") throw new Refused("unsupported", "an issuer's word for each device");
  fieldsOf(manifest.repeat, "kind"), fieldsOf(manifest.enrolment, "mode");
  const epsilon = exact(manifest.epsilon), delta = exact(manifest.delta);
  const kind = of(manifest.mechanism, "kind");
  if (kind === "mean") checkNumbers(categories);
  const mechanism = mechanismOf(manifest.mechanism, categories.length, epsilon, delta);
  return {
    id: await sha256(payload), name, sequence, question, categories, kind: String(kind), mechanism, epsilon: manifest.epsilon,
    delta: manifest.delta, start, epoch_seconds, epochs, grace_seconds, origin, ends, cost: nanoCost(mechanism.odds),
  };
}

/**
 * Return the envelopes of an offered array of `[envelope, proof]`; proofs are not looked at.
 * @param {Bytes} body
 */
export function offeredIn(body) {
  const pairs = decode(body, 4);
  demand(Array.isArray(pairs) && pairs.length, "not an array of manifests");
  if (pairs.length > 16) throw new Refused("too-large", "at most 16 manifests are expected");
  return pairs.map((pair) => { // one that is no envelope is refused when it is opened, and leaves the others alone
    const envelope = Array.isArray(pair) ? pair[0] : null;
    return Array.isArray(envelope) && envelope.every((part) => isBytes(part)) ? encode(envelope) : new Uint8Array();
  });
}

/** @param {unknown} text @returns {text is string} */
export function isOrigin(text) {
  if (typeof text !== "string") return false;
  const parts = /^(https?):\/\/(\[[0-9a-f:]+\]|[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)(:[1-9][0-9]{0,4})?$/.exec(text);
  if (!parts || text.includes("..") || text.includes(":ffff:")) return false;
  return (parts[1] === "https" || ["127.0.0.1", "[::1]"].includes(parts[2])) && URL.canParse(text) && new URL(text).origin === text;
}
