/** Keys and signatures: our own checks before any library's. */

import { bigEndian, concat, encode, fromBase64, fromHex, hex, littleEndian, Refused, utf8 } from "./bytes.js";

/** @import { Bytes } from "./bytes.js" */

const P = 2n ** 255n - 19n, L = 2n ** 252n + 27742317777372353535851937790883648493n;
const SMALL_ORDER = new Set([0n, 1n, P - 1n, 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n]);
const PKCS8 = fromHex("302e020100300506032b657004220420");

/** @param {Bytes} bytes */
const isSoundPoint = (bytes) => {
  const y = littleEndian(bytes) & ((1n << 255n) - 1n);
  return bytes.length === 32 && y < P && !SMALL_ORDER.has(y);
};

/** @param {Bytes} key @param {string} context @param {Bytes} payload @param {Bytes} signature */
export async function verify(key, context, payload, signature) {
  if (!isSoundPoint(key)) throw new Refused("bad-key", "the key is not canonical, or has a small order");
  const sound = signature.length === 64 && isSoundPoint(signature.subarray(0, 32)) && littleEndian(signature.subarray(32)) < L;
  const matches = sound && await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"])
    .then((read) => crypto.subtle.verify("Ed25519", read, signature, concat(utf8(context), payload))).catch(() => false);
  if (!matches) throw new Refused("bad-signature", "the signature does not match");
}

/** @param {Bytes} bytes */
export const sha256 = async (bytes) => hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));

/**
 * Return the signed envelope of a report, under the key of this survey and epoch alone.
 * @param {Bytes} secret
 * @param {Bytes} surveyId
 * @param {number} epoch
 * @param {number} response
 */
export async function signReport(secret, surveyId, epoch, response) {
  const info = concat(utf8("deniable/report-key/v1\0"), bigEndian(epoch, 8));
  const root = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const seed = await crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt: surveyId, info }, root, 256);
  const key = await crypto.subtle.importKey("pkcs8", concat(PKCS8, new Uint8Array(seed)), "Ed25519", true, ["sign"]);
  const { x = "" } = await crypto.subtle.exportKey("jwk", key);
  const payload = encode([surveyId, epoch, response]);
  const signature = await crypto.subtle.sign("Ed25519", key, concat(utf8("deniable/report/v1\0"), payload));
  return encode([fromBase64(x.replaceAll("-", "+").replaceAll("_", "/")), payload, new Uint8Array(signature), null]);
}
