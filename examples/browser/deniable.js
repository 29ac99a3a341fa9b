/* A device of deniable in a browser page: one ES module, no dependencies. Protocol version 1.
 *
 * It follows surveys of the kinds randomised-response, subset, affine and mean whose responses are fresh and whose enrolment is
 * open. Comments name the rules (D1 to D13) of docs/protocol.md; README.md has what a page holds of them, and what not.
 *
 *   const device = new Device({ collector, authority, surveys: [declaration], manifests });
 *   await device.consent("on");                  // once the user has read the notice and agreed, never before
 *   await device.report("theme", "dark");        // draws once an epoch; sends nothing
 *   device.start();                              // sends and refreshes in the background, at random times
 */

const DAY = 86_400;
const MOST_SENDS = 6, MOST_REQUESTS_A_DAY = 8, MOST_WAITING = 200, JITTER = 1 / 4;
const REQUEST_SECONDS = 20, CLAIM_SECONDS = 60, LAUNCH_SECONDS = 30, SUSPENDED_SECONDS = 90;
const MAX_MANIFEST = 1 << 20, MAX_MANIFESTS = 2 << 20, MAX_ANSWER = 1 << 16;

/** A message from elsewhere that is not acceptable; `code` is the protocol's where it has one. */
export class Refused extends Error {
  constructor(code, reason) { super(`${code}: ${reason}`); this.code = code; }
}

/** How the reason begins why a newcomer waits; its first answer can be given at `from`. */
export const NEWCOMER = "this browser has no memory of earlier reports";

/** Nothing was drawn; `from` is the Unix second from which it is worth another try, if that is known. */
class NotRecorded extends Error {
  constructor(why, from = null) { super(why); this.from = from; }
}

const malformed = (reason) => { throw new Refused("malformed", reason); };
const demand = (holds, reason) => holds || malformed(reason);

// ---------------------------------------------------------------- bytes, and canonical msgpack

const ascii = (text) => new TextEncoder().encode(text);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const concat = (...parts) => {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
};
const bigEndian = (value, width) => fromHex(BigInt(value).toString(16).padStart(2 * width, "0"));
const littleEndian = (bytes) => BigInt(`0x${hex(Uint8Array.from(bytes).reverse())}`);
const isBytes = (value, length) => value instanceof Uint8Array && (length === undefined || value.length === length);

/** Return the one encoding of an unsigned integer, null, bytes, or an array of these. */
export function encode(value) {
  const sized = (size, forms) => {
    const [first, width] = forms.find(([, , most]) => size <= most);
    return width ? concat([first], bigEndian(size, width)) : [first + Number(size)];
  };
  if (value === null) return Uint8Array.of(0xc0);
  if (Array.isArray(value)) {
    return concat(sized(value.length, [[0x90, 0, 15], [0xdc, 2, 0xffff], [0xdd, 4, 2 ** 32]]), ...value.map(encode));
  }
  if (isBytes(value)) return concat(sized(value.length, [[0xc4, 1, 0xff], [0xc5, 2, 0xffff], [0xc6, 4, 2 ** 32]]), value);
  const forms = [[0, 0, 127], [0xcc, 1, 0xff], [0xcd, 2, 0xffff], [0xce, 4, 0xffffffff], [0xcf, 8, Infinity]];
  return Uint8Array.from(sized(value, forms));
}

/** Decode one canonical value. What the protocol has no use for is malformed; only a manifest's weights exceed 63 bits. */
export function decode(bytes, deepest = 8, bits = 63n) {
  let at = 0;
  const take = (count) => {
    demand(count <= bytes.length - at, "it is truncated");
    return bytes.subarray(at, at += count);
  };
  const number = (width, least) => {
    const value = BigInt(`0x${hex(take(width))}`);
    demand(value >= least && !(value >> bits), "the encoding is not canonical");
    return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
  };
  const text = (size) => { try { return utf8.decode(take(size)); } catch { return malformed("not a text"); } };
  const many = (count, depth, read) => {
    demand(depth < deepest && count <= bytes.length, "nested too deeply, or truncated");
    return Array.from({ length: count }, () => read(depth + 1));
  };
  const map = (count, depth) => {
    const read = new Map(many(count, depth, (inner) => [value(inner), value(inner)]));
    demand(read.size === count && [...read.keys()].every((key) => typeof key === "string"), "a key twice, or no text");
    return read;
  };
  const value = (depth) => {
    const [first] = take(1);
    if (first < 0x80) return first;
    if (first < 0x90) return map(first & 15, depth);
    if (first < 0xa0) return many(first & 15, depth, value);
    if (first < 0xc0) return text(first & 31);
    switch (first) {
      case 0xc0: return null;
      case 0xc4: return take(number(1, 0));
      case 0xc5: return take(number(2, 1 << 8));
      case 0xc6: return take(number(4, 1 << 16));
      case 0xcc: return number(1, 128);
      case 0xcd: return number(2, 1 << 8);
      case 0xce: return number(4, 1 << 16);
      case 0xcf: return number(8, 1n << 32n);
      case 0xd9: return text(number(1, 32));
      case 0xda: return text(number(2, 1 << 8));
      case 0xdb: return text(number(4, 1 << 16));
      case 0xdc: return many(number(2, 16), depth, value);
      case 0xdd: return many(number(4, 1 << 16), depth, value);
      case 0xde: return map(number(2, 16), depth);
      default: return malformed("a type that no message has");
    }
  };
  const decoded = value(0);
  demand(at === bytes.length, "bytes behind the message");
  return decoded;
}

const of = (value, key) => (value instanceof Map ? value.get(key) : undefined);

/** Return a decoded map with exactly these keys in this order. */
function fieldsOf(value, ...keys) {
  demand(value instanceof Map && [...value.keys()].join() === keys.join(), "a map has other keys");
  return Object.fromEntries(value);
}

// ---------------------------------------------------------------- exact numbers: no float decides about privacy

const WORD = 64n, GRID = 1n << WORD;
const ceilDiv = (numerator, denominator) => (numerator + denominator - 1n) / denominator; // of numbers from 0 on

/** Return a decimal text as [numerator, denominator]. */
export function exact(text) {
  demand(typeof text === "string" && /^(0|[1-9][0-9]{0,3})(\.[0-9]{0,17}[1-9])?$/.test(text), "not a plain decimal");
  const [whole, part = ""] = text.split(".");
  return [BigInt(whole + part), 10n ** BigInt(part.length)];
}
const isUint = (value, least = 0, most = Number.MAX_SAFE_INTEGER) => Number.isInteger(value) && least <= value && value <= most;
const atMost = ([a, b], [c, d]) => a * d <= c * b;
const scaledUp = ([a, b], unit) => ceilDiv(a * unit, b);
const NANO = 10n ** 9n;

/** Return low <= e^(numerator/denominator) 2^bits <= high; docs/mathematics.md, section 2. */
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

/** Return ln(odds) in units of 1e-9, rounded up: the float only says where to start. */
export function nanoCost([p, q]) {
  let cost = BigInt(Math.max(0, Math.floor(Math.log(Number((p << WORD) / q) / 2 ** 64) * 1e9) - 9));
  while (expEnclosure([cost, NANO], 128n)[0] * q < p << 128n) cost++;
  return Number(cost);
}

// ---------------------------------------------------------------- mechanisms

/** Return 64 uniform bits of the browser's generator: the only source that makes an answer private. */
const randomWord = () => crypto.getRandomValues(new BigUint64Array(1))[0];
const jitter = () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;

/* Of K blocks on l positions, s a base block, r hold a point and t any two: outside = ceil(N / (s E' + l - s)) for the odds
 * E' = ((r - t) e^epsilon + delta (K - r)) / ((r - t) - delta r), rounded up, to privacy. Both ends of the enclosure of
 * e^epsilon must agree. Randomised response is the design of single points. */
function leastOutside({ K, l, s, r, t }, epsilon, [a, b]) {
  for (let bits = 192n; ; bits *= 2n) {
    const [low, high] = expEnclosure(epsilon, bits).map((end) => {
      const numerator = (r - t) * end * b + ((a * (K - r)) << bits), denominator = ((r - t) * b - a * r) << bits;
      return ceilDiv(GRID * denominator, s * numerator + (l - s) * denominator);
    });
    if (low === high) return low;
  }
}

/** Check (D2) that weights more : less, of which r - t tell two answers apart, are as private as is stated. */
function certify(more, less, apart, total, epsilon, [a, b]) {
  const [low] = expEnclosure(epsilon, 128n), excess = (more << 128n) - low * less;
  demand(more > less && (excess <= 0n || apart * excess * b <= (a * total) << 128n), "its probabilities exceed its epsilon");
}

function randomisedResponse(k, epsilon, delta) {
  const count = BigInt(k), lie = leastOutside({ K: count, l: count, s: 1n, r: 1n, t: 0n }, epsilon, delta);
  demand(count * lie < GRID, "2^64 does not resolve so many categories; raise epsilon");
  const truth = GRID - (count - 1n) * lie;
  certify(truth, lie, 1n, GRID, epsilon, delta);
  return {
    responses: k, odds: [truth, lie], lie,
    randomise(answer, draw) { // both outcomes are computed and one is selected
      const named = Number(draw() / lie);
      return [answer, named][+(named < k)];
    },
  };
}

/* A design that is turned: the base block is drawn without a look at the answer, then turned until the position, one that
 * the block holds with the weight inside, lies at the answer. What s does not divide of the words is blank. */
function turnedDesign({ K, l, s, r, t, turned }, epsilon, delta) {
  const [a, b] = delta, [blocks, n, size, hold, both] = [K, l, s, r, t].map(BigInt);
  demand(a * hold < b * (hold - both), "delta allows any response");
  const slack = [a << 128n, b * ((1n << 128n) + blocks)]; // a base block is drawn by 128 bits
  const outside = leastOutside({ K: blocks, l: n, s: size, r: hold, t: both }, epsilon, slack);
  const rest = GRID - (n - size) * outside, inside = rest / size, blank = rest % size;
  demand(rest > 0n && inside > outside, "2^64 does not resolve this design; raise epsilon");
  const more = n * inside + blank, less = n * outside + blank;
  certify(more, less, hold - both, blocks * GRID, epsilon, slack);
  return {
    responses: K, odds: [more, less], inside, outside,
    randomise(answer, draw) {
      const word = draw(), first = (n - size) * outside;
      const missed = size + word / outside, held = (word - first) / inside;
      const base = Number((((draw() << WORD) | draw()) * blocks) >> 128n);
      const position = Number([missed, held][+(word >= first)]);
      return [turned(base, position, answer), base][+(word >= GRID - blank)];
    },
  };
}

function comb(n, k) {
  let product = 1n;
  for (let i = 0n; i < k; i++) product = (product * BigInt(n - Number(i))) / (i + 1n);
  return k < 0 ? 0n : product;
}

function subsetDesign(k, d) {
  demand(isUint(d, 1, k - 1) && Math.min(d, k - d) <= 20, "no such subsets");
  const K = comb(k, BigInt(d));
  demand(K <= 1n << 20n && K * BigInt(d) <= 1n << 23n, "too many subsets");
  const members = (rank) => { // the greatest first
    const set = [];
    for (let places = d, x = k - 1; places > 0; places--, x--) {
      while (comb(x, BigInt(places)) > rank) x--;
      rank -= Number(comb(x, BigInt(places)));
      set.push(x);
    }
    return set;
  };
  const turned = (base, position, answer) => {
    const set = members(base);
    let placed = position < d ? set[position] : position - d;
    if (position >= d) for (const member of [...set].reverse()) placed += member <= placed;
    return set.map((x) => (((x + answer - placed) % k) + k) % k).sort((x, y) => x - y)
      .reduce((rank, x, i) => rank + Number(comb(x, BigInt(i + 1))), 0);
  };
  return { K: Number(K), l: k, s: d, r: comb(k - 1, BigInt(d - 1)), t: comb(k - 2, BigInt(d - 2)), turned };
}

const gcd = (a, b) => (b ? gcd(b, a % b) : a);
const isPrime = (q) => {
  for (let factor = 2; factor * factor <= q; factor++) if (q % factor === 0) return false;
  return q > 1;
};

function affineDesign(k, q, m, s) {
  demand(isUint(q, 2, (1 << 17) - 1) && isPrime(q) && isUint(m, 1, 20) && isUint(s, 1, q - 1), "no such affine design");
  const withSign = (multipliers) => (q === 2 ? multipliers : (2 * multipliers) / gcd(2, multipliers));
  const without = gcd(s, q - 1), holding = gcd(s - 1, q - 1), zero = withSign(holding) >= withSign(without);
  const h = zero ? holding : without, n = withSign(h);
  const points = BigInt(q) ** BigInt(m), others = points - 1n, S = BigInt(s), vectors = BigInt(n);
  const K = (BigInt(q) * others) / vectors;
  demand(K <= 1n << 20n && BigInt(k) <= points, "too many responses, or categories");
  let powers = [];
  for (let g = 1; powers.length < q - 1; g++) {
    powers = [1];
    for (let power = g; power !== 1 && powers.length < q; power = (power * g) % q) powers.push(power);
  }
  const cosets = powers.map((_, i) => powers[(i % h) * ((q - 1) / h) + Math.floor(i / h)]);
  const residues = zero ? [0, ...cosets] : [...cosets, 0], firsts = (q - 1) / n;
  const vector = (index) => {
    let unit = 1;
    for (; index >= firsts * unit; unit *= q) index -= firsts * unit;
    return powers[Math.floor(index / unit)] * unit + (index % unit);
  };
  const product = (one, other) => {
    let total = 0;
    for (; one; one = Math.floor(one / q), other = Math.floor(other / q)) total += (one % q) * (other % q);
    return total % q;
  };
  const turned = (base, position, answer) => {
    const index = Math.floor(base / q);
    return index * q + ((residues[position] - product(vector(index), answer) + q) % q);
  };
  return { K: Number(K), l: q, s, r: (S * others) / vectors, t: ((points / BigInt(q)) * S * S - S) / vectors, turned };
}

/* Rows over 2^64 whose mean responses rise in equal steps. Of more answers than rows, one between two takes either, drawn
 * with exact odds. Words are compared with all sums of a row, so that the work says nothing of the answer. */
function meanMatrix(k, weights, epsilon, delta) {
  demand(delta[0] === 0n && k <= 4096 && Array.isArray(weights) && isUint(weights.length, 2, Math.min(49, k)), "no such rows");
  const R = weights[0].length, isWeight = (weight) => typeof weight === "bigint" || isUint(weight, 1);
  demand(isUint(R, 2, 32) && weights.every((row) => Array.isArray(row) && row.length === R && row.every(isWeight)), "no such weights");
  const rows = weights.map((row) => row.map(BigInt)), total = (row) => row.reduce((sum, weight) => sum + weight, 0n);
  demand(rows.every((row) => total(row) === GRID), "a row does not sum to 2^64");
  const means = rows.map((row) => total(row.map((weight, y) => weight * BigInt(y)))), rise = means[1] - means[0];
  demand(rise > 0n && means.every((mean, j) => mean === means[0] + BigInt(j) * rise), "means do not rise in equal steps");
  const steps = rows.length - 1, between = steps + 1 === k ? 1 : k - 1, mask = (1n << BigInt((between - 1).toString(2).length)) - 1n;
  const place = (answer) => [Math.trunc((answer * steps) / (k - 1)), (answer * steps) % (k - 1)];
  const mixtures = Array.from({ length: k }, (_, answer) => {
    const [j, rest] = place(answer), above = rows[Math.min(j + 1, steps)];
    return rows[j].map((weight, y) => BigInt(between - rest) * weight + BigInt(rest) * above[y]);
  });
  const odds = rows[0].map((_, y) => mixtures.map((row) => row[y]).reduce(([most, least], weight) => [
    weight > most ? weight : most, weight < least ? weight : least], [mixtures[0][y], mixtures[0][y]]))
    .reduce((worst, other) => (atMost(other, worst) ? worst : other));
  demand(odds[0] << 128n <= expEnclosure(epsilon, 128n)[0] * odds[1], "its probabilities exceed its epsilon");
  return {
    responses: R, odds, rows: mixtures,
    randomise(answer, draw) {
      let drawn = 0;
      if (between > 1) do drawn = Number(draw() & mask); while (drawn >= between);
      const [j, rest] = place(answer), word = draw();
      let sum = 0n, response = 0;
      for (const weight of rows[j + +(drawn < rest)]) response += +(word >= (sum += weight));
      return response;
    },
  };
}

/** Check that the answers to a survey of a mean are numbers in their one form, at equal steps. */
function checkNumbers(categories) {
  const form = /^(?!-0$)-?(0|[1-9][0-9]{0,14})(\.[0-9]{0,5}[1-9])?$/;
  demand(categories.every((category) => form.test(category)), "answers that are no numbers");
  const values = categories.map((category) => {
    const [whole, part = ""] = category.replace("-", "").split(".");
    return BigInt(whole + part.padEnd(6, "0")) * (category.startsWith("-") ? -1n : 1n);
  });
  const step = values[1] - values[0], least = values[0] < 0n ? -values[0] : values[0], last = values.at(-1);
  demand(step > 0n && values.every((value, i) => value === values[0] + BigInt(i) * step), "numbers that do not rise in equal steps");
  demand([least, last < 0n ? -last : last].every((size) => size <= 10n ** 12n * step), "numbers so large that floats cannot tell them apart");
}

/** Return the mechanism of a manifest's map, certified to be as private as is stated; others are refused (D2). */
export function mechanismOf(map, categories, epsilon, delta) {
  demand(atMost(epsilon, [40n, 1n]) && delta[0] < delta[1] && (epsilon[0] || delta[0]), "epsilon or delta is out of its domain");
  switch (of(map, "kind")) {
    case "randomised-response":
      return fieldsOf(map, "kind") && randomisedResponse(categories, epsilon, delta);
    case "subset":
      return turnedDesign(subsetDesign(categories, fieldsOf(map, "kind", "d").d), epsilon, delta);
    case "affine": {
      const { q, m, s } = fieldsOf(map, "kind", "q", "m", "s");
      return turnedDesign(affineDesign(categories, q, m, s), epsilon, delta);
    }
    case "mean":
      return meanMatrix(categories, fieldsOf(map, "kind", "weights").weights, epsilon, delta);
    default: throw new Refused("unsupported", "a kind that this device cannot certify");
  }
}

// ---------------------------------------------------------------- keys and signatures: our own checks before any library

const P = 2n ** 255n - 19n, L = 2n ** 252n + 27742317777372353535851937790883648493n;
const SMALL_ORDER = new Set([0n, 1n, P - 1n, 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n]);
const PKCS8 = fromHex("302e020100300506032b657004220420");

const isSoundPoint = (bytes) => {
  const y = littleEndian(bytes) & ((1n << 255n) - 1n);
  return bytes.length === 32 && y < P && !SMALL_ORDER.has(y);
};

export async function verify(key, context, payload, signature) {
  if (!isSoundPoint(key)) throw new Refused("bad-key", "the key is not canonical, or has a small order");
  const sound = signature.length === 64 && isSoundPoint(signature.subarray(0, 32)) && littleEndian(signature.subarray(32)) < L;
  const matches = sound && await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"])
    .then((read) => crypto.subtle.verify("Ed25519", read, signature, concat(ascii(context), payload))).catch(() => false);
  if (!matches) throw new Refused("bad-signature", "the signature does not match");
}

const sha256 = async (bytes) => hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));

/** Return the signed envelope of a report, under the key of this survey and epoch alone. */
export async function signReport(secret, surveyId, epoch, response) {
  const info = concat(ascii("deniable/report-key/v1\0"), bigEndian(epoch, 8));
  const root = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const seed = await crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt: surveyId, info }, root, 256);
  const key = await crypto.subtle.importKey("pkcs8", concat(PKCS8, new Uint8Array(seed)), "Ed25519", true, ["sign"]);
  const { x } = await crypto.subtle.exportKey("jwk", key);
  const payload = encode([surveyId, epoch, response]);
  const signature = await crypto.subtle.sign("Ed25519", key, concat(ascii("deniable/report/v1\0"), payload));
  return encode([fromBase64(x.replaceAll("-", "+").replaceAll("_", "/")), payload, new Uint8Array(signature), null]);
}

// ---------------------------------------------------------------- manifests

const KEYS = ["version", "name", "sequence", "nonce", "question", "categories", "mechanism", "epsilon", "delta", "repeat", "start",
  "epoch_seconds", "epochs", "grace_seconds", "origin", "enrolment", "minimum_reports"];

// So many code points are not allowed, so many then are, by turns, to the base 26: those of Unicode 14 without Cc, Cf, Cs, Zl, Zp, with
// the joiners. Browsers differ about later characters.
const BOUNDS = (
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
).match(/[A-Z][a-z]*/g).map((run) => [...run.toLowerCase()].reduce((number, letter) => 26 * number + letter.charCodeAt(0) - 97, 0));
BOUNDS.forEach((run, at) => { BOUNDS[at] = run + (BOUNDS[at - 1] ?? 0); });
const INVISIBLE = /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu;

function isAllowed(character) {
  let low = 0, high = BOUNDS.length; // how many bounds are at most its code point
  for (const point = character.codePointAt(0); low < high;) {
    const middle = (low + high) >> 1;
    if (BOUNDS[middle] <= point) low = middle + 1; else high = middle;
  }
  return low % 2 === 1;
}

function checkText(text, most) {
  demand(typeof text === "string" && text && text === text.trim() && text === text.normalize("NFC"), "a text in another form");
  demand([...text].every(isAllowed), "a text that hides something, or is newer than Unicode 14");
  demand(/[^\p{M}\p{Z}\u2800]/u.test(text.replace(INVISIBLE, "")), "a text of which nothing is seen");
  demand(ascii(text).length <= most, "a text that is too long");
}

/** Return what two texts that look the same have in common: all but the invisible, NFKC and case folding, of which ı is not an i. */
const folded = (text) => text.replace(INVISIBLE, "").normalize("NFKC").replaceAll("ı", "\0").toLowerCase().toUpperCase();

/** Verify a manifest's envelope, then read it. Nothing but the frame of two byte strings is looked at before. */
export async function openManifest(envelope, authority) {
  demand(envelope.length <= MAX_MANIFEST + 80, "a manifest has at most 1 MiB");
  const framed = decode(envelope, 1);
  demand(Array.isArray(framed) && framed.length === 2 && isBytes(framed[0]) && isBytes(framed[1], 64), "not an envelope");
  const [payload, signature] = framed;
  await verify(authority, "deniable/manifest/v1\0", payload, signature);
  demand(payload.length <= MAX_MANIFEST, "a manifest has at most 1 MiB");
  const manifest = fieldsOf(decode(payload, 8, 64n), ...KEYS), { name, categories, start, epoch_seconds, epochs } = manifest;
  demand(manifest.version === 1, "another version of the protocol");
  demand(typeof name === "string" && /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/.test(name), "not a name");
  demand(isUint(manifest.sequence, 0, 2 ** 32 - 1) && isBytes(manifest.nonce, 16), "not a sequence, or nonce");
  checkText(manifest.question, 1024);
  demand(Array.isArray(categories) && 2 <= categories.length && categories.length <= 65_536, "not 2 to 65,536 categories");
  categories.forEach((category) => checkText(category, 256));
  demand(new Set(categories.map(folded)).size === categories.length, "two categories look the same");
  demand(isUint(start) && isUint(epoch_seconds, 1) && isUint(epochs, 1, 10_000) && isUint(manifest.grace_seconds), "not a schedule");
  const ends = start + epochs * epoch_seconds;
  demand(ends + manifest.grace_seconds < 2 ** 53, "the last instant is out of reach");
  demand(isOrigin(manifest.origin), "not an origin");
  demand(isUint(manifest.minimum_reports) || (typeof manifest.minimum_reports === "bigint" && !(manifest.minimum_reports >> 63n)), "not a number of reports");
  if (of(manifest.repeat, "kind") !== "fresh") throw new Refused("unsupported", "responses that are kept");
  if (of(manifest.enrolment, "mode") !== "open") throw new Refused("unsupported", "an issuer's word for each device");
  fieldsOf(manifest.repeat, "kind"), fieldsOf(manifest.enrolment, "mode");
  const epsilon = exact(manifest.epsilon), delta = exact(manifest.delta);
  if (of(manifest.mechanism, "kind") === "mean") checkNumbers(categories);
  const mechanism = mechanismOf(manifest.mechanism, categories.length, epsilon, delta);
  return { ...manifest, mechanism, id: await sha256(payload), ends, cost: nanoCost(mechanism.odds) };
}

/** Return the envelopes of an offered array of `[envelope, proof]`; proofs are not looked at. */
export function offeredIn(body) {
  const pairs = decode(body, 4);
  demand(Array.isArray(pairs) && pairs.length, "not an array of manifests");
  if (pairs.length > 16) throw new Refused("too-large", "at most 16 manifests are expected");
  return pairs.map((pair) => { // one that is no envelope is refused when it is opened, and leaves the others alone
    const envelope = Array.isArray(pair) ? pair[0] : null;
    return Array.isArray(envelope) && envelope.every((part) => isBytes(part)) ? encode(envelope) : new Uint8Array();
  });
}

function isOrigin(text) {
  const parts = /^(https?):\/\/(\[[0-9a-f:]+\]|[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)(:[1-9][0-9]{0,4})?$/.exec(text);
  if (typeof text !== "string" || !parts || text.includes("..") || text.includes(":ffff:")) return false;
  return (parts[1] === "https" || ["127.0.0.1", "[::1]"].includes(parts[2])) && URL.canParse(text) && new URL(text).origin === text;
}

// ---------------------------------------------------------------- what a collector answers (D8)

const CODES = { // what a device does with a report then, and the status of a whole request that is refused so
  malformed: ["drop", 400], "bad-key": ["drop"], "bad-signature": ["drop"], "not-enrolled": ["drop"], "unknown-survey": ["later"],
  "out-of-domain": ["drop"], "too-early": ["later"], "epoch-closed": ["too late"], "survey-ended": ["too late"],
  "report-conflict": ["drop"], "too-large": ["drop", 413], "unsupported-media-type": ["drop", 415], timeout: ["later", 408],
  "rate-limited": ["later", 429], overloaded: ["later", 503], "storage-full": ["later", 507], "store-failed": ["later", 503],
  unauthorised: ["later", 401], forbidden: ["later", 403], "not-found": ["later", 404], "bad-query": ["later", 400],
  "too-few-reports": ["later", 409],
};

/** Return a JSON object of which no key is repeated and all numbers are written as whole ones, if that is asked for; else null. */
function strictJson(bytes, whole) {
  try {
    const text = utf8.decode(bytes), read = JSON.parse(text), strings = /"(?:[^"\\]|\\.)*"/g;
    const keys = (value) => (value === null || typeof value !== "object" ? 0
      : Object.values(value).reduce((sum, inner) => sum + keys(inner), Array.isArray(value) ? 0 : Object.keys(value).length));
    const bare = text.replaceAll(strings, '"'), written = bare.match(/"\s*:/g)?.length ?? 0;
    return !Array.isArray(read) && keys(read) === written && !(whole && /[0-9][.eE]/.test(bare)) ? read : null;
  } catch { return null; }
}

/** Return "accepted", "duplicate", a known code, or null: then the fate of the one report that was sent is not known. */
export function verdictOf(answer) {
  const read = answer && strictJson(answer.body, answer.status === 200);
  if (!read) return null;
  const known = (code) => (typeof code === "string" && Object.hasOwn(CODES, code) ? code : null);
  if (answer.status !== 200) {
    const isProblem = answer.type.split(";")[0].trim().toLowerCase() === "application/problem+json";
    const [, code] = (isProblem && /^urn:deniable:error:(.+)$/.exec(read.type)) || [];
    return known(code) && CODES[code][1] === answer.status ? code : null;
  }
  const { accepted, duplicates, refused } = read;
  if (Object.keys(read).length !== 3 || !isUint(accepted) || !isUint(duplicates) || !Array.isArray(refused)) return null;
  if (accepted + duplicates + refused.length !== 1) return null;
  if (!refused.length) return accepted ? "accepted" : "duplicate";
  return refused[0] && Object.keys(refused[0]).length === 2 && refused[0].index === 0 ? known(refused[0].code) : null;
}

/** Return the seconds that a collector asks for, as one of three, so that it cannot mark a device by them. */
const retryAfter = (text) => (/^[0-9]+$/.test(text ?? "") ? [60, 600, 3600].find((coarse) => Number(text) <= coarse) ?? 3600 : 0);

// ---------------------------------------------------------------- where the state is kept (D5)

/* A storage has two methods. read() returns the state, an object that structured cloning copies, or null; it never makes one. update(change, create) hands
 * the state to change, in one transaction, keeps what change returns (nothing, if that is undefined), and is durable once it
 * resolves. Of several tabs that update at once each sees what the one before has kept: whoever loses reads the winner's row. */

export function indexedDbStorage(name = "deniable") {
  const open = (create) => new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => (create ? request.result.createObjectStore("device") : request.transaction.abort());
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => (!create && request.error.name === "AbortError" ? resolve(null) : reject(request.error));
  });
  const run = async (mode, change, create) => {
    const database = await open(create);
    if (!database) return change(null);
    try {
      return await new Promise((resolve, reject) => {
        const transaction = database.transaction("device", mode, { durability: "strict" }), store = transaction.objectStore("device");
        let outcome;
        store.get("state").onsuccess = ({ target }) => {
          try {
            outcome = change(target.result ?? null);
            if (mode === "readwrite" && outcome !== undefined) store.put(outcome, "state");
          } catch (error) { reject(error); transaction.abort(); }
        };
        transaction.oncomplete = () => resolve(outcome);
        transaction.onabort = () => reject(transaction.error ?? new Error("the browser keeps nothing"));
      });
    } finally { database.close(); } // so that clearing the site's data never waits for a tab
  };
  return { read: () => run("readonly", (state) => state), update: (change, create = false) => run("readwrite", change, create) };
}

// ---------------------------------------------------------------- the device

const systemClock = { now: () => Date.now() / 1000, running: () => performance.now() / 1000 };
const KNOWN = new Set(["name", "question", "categories", "max_epsilon", "max_delta", "min_epoch_seconds", "max_epoch_seconds",
  "max_grace_seconds", "max_total_epsilon", "pinned_ids", "mechanisms", "max_kept_epsilon", "max_kept_epochs"]);

/** Return an option's number; or say which option is none. */
function decimal(option, text) {
  try { return exact(text); } catch { throw new TypeError(`${option} must be a plain decimal in quotes, such as "20"`); }
}
const nanoFloor = ([a, b]) => Number((a * NANO) / b);

function declared(given, lifetime) {
  const unknown = Object.keys(given).find((key) => !KNOWN.has(key));
  if (unknown) throw new TypeError(`this device follows no survey with ${unknown}`);
  const survey = { max_delta: "0", min_epoch_seconds: DAY, max_epoch_seconds: 400 * DAY, max_grace_seconds: 90 * DAY, ...given };
  const of = (option) => decimal(`${survey.name}'s ${option}`, survey[option]), isKept = survey.max_kept_epsilon !== undefined;
  const total = (survey.max_total_epsilon ?? null) === null ? lifetime : nanoFloor(of("max_total_epsilon"));
  const bounds = [scaledUp(of("max_epsilon"), NANO), scaledUp(of("max_delta"), 10n ** 18n), Math.min(total, lifetime),
    lifetime, survey.max_grace_seconds, -Math.max(1, survey.min_epoch_seconds), // none may rise (D12)
    isKept ? scaledUp(of("max_kept_epsilon"), NANO) : -1, isKept ? survey.max_kept_epochs ?? 53 : 0];
  return { ...survey, total, bounds: bounds.map(String) };
}

export class Device {
  #settings; #surveys; #scopes; #opened = new Map(); #faults = { bundled: new Map(), fetched: new Map() }; #refused = false; #launch = null; #backAt = null; #running = null; #abort = null;

  /** surveys: declarations, as bundles have them (D1); manifests: signed, in base64, as bundles have them. `firstEpoch` is what a
   *  device that finds no state may answer first: the "next" epoch, or the one that runs "now", whose response it may have forgotten. */
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
      survey.digest = await sha256(ascii(JSON.stringify(asked)));
    }));
  }

  // ------------------------------------------------ consent

  /** Return "on", "off" or "unset"; or keep the user's decision. Nothing is stored before the first one. */
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
      state ??= { spent: new Map(), decided: new Map(), outbox: [], followed: new Map(), asked: new Map(), launch: null, covered: [],
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
  }

  /** Return the names of the surveys for which consent is still to be asked (D12); none after "off". */
  async uncovered() {
    const [state] = [await this.#settings.storage.read(), await this.#scopes];
    if (this.#refused || state?.consent === "off") return [];
    return [...this.#surveys.values()].filter((survey) => !state || !isCovered(state, survey)).map(({ name }) => name);
  }

  // ------------------------------------------------ reports

  /** Draw, sign and store the one response of this epoch; send nothing. Return { status, epoch, why, from }. */
  async report(name, answer) {
    const survey = this.#surveys.get(name);
    const place = survey ? survey.categories.reduce((found, category, i) => (category === answer ? i : found), -1) : -1;
    if (place < 0) throw new RangeError("the survey, or its answer, was never declared");
    try {
      const { storage, draw, clock, spread } = this.#settings, before = await this.#terms(survey);
      if (!before.manifest) return before;
      const { manifest, epoch, starts, secret } = before;
      const response = manifest.mechanism.randomise(place, draw);
      const envelope = await signReport(fromHex(secret), fromHex(manifest.id), epoch, response);
      let outcome;
      await storage.update((state) => { // decision, charge and signed bytes are one transaction (D5)
        const now = clock.now(), terms = this.#judge(state, survey, now);
        outcome = terms.manifest ? { status: "recorded", epoch, why: "", from: null } : terms;
        if (!terms.manifest) return undefined; // another tab was first: what was drawn here is gone, unseen
        if (terms.manifest !== manifest || terms.epoch !== epoch || terms.secret !== secret) {
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

  /** Return what report would, without an answer: { status: "ready" | "repeated" | "not-recorded", epoch, why, from }. */
  async look(name) {
    try {
      const { manifest, epoch, ...standing } = await this.#terms(this.#surveys.get(name));
      return manifest ? { status: "ready", epoch, why: "", from: null } : { epoch, ...standing };
    } catch (error) {
      return notRecorded(error);
    }
  }

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

  /** Judge whether the current epoch of a survey may be decided (D1 to D5, D12): nothing here knows an answer. */
  #judge(state, survey, now) {
    if (this.#refused || state?.consent !== "on") throw new NotRecorded("the user has not agreed");
    if (!isCovered(state, survey)) throw new NotRecorded("the user has not agreed to this survey as it is declared now");
    const { epoch: highest, ends, became } = state.decided.get(survey.name) ?? { epoch: -1, ends: -Infinity };
    if (now < ends) return { status: "repeated", epoch: highest, why: became, from: ends };
    const accepted = this.#followed(state, survey.name).accepted.map(({ digest }) => this.#opened.get(digest)).filter(Boolean);
    const { bundled, fetched } = this.#faults, fault = fetched.get(survey.name);
    if (!accepted.length) throw new NotRecorded(["no verified manifest yet", bundled.get(survey.name), fault].filter(Boolean).join("; "));
    const begun = accepted.filter(({ start }) => start <= now), manifest = begun.findLast((candidate) => !misfit(candidate, survey));
    if (!begun.length) throw new NotRecorded("the survey has not begun", accepted.at(-1).start);
    if (!manifest) throw new NotRecorded(`the survey is not as it was declared: ${misfit(begun.at(-1), survey)}`);
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

  async #open(envelope) {
    const digest = await sha256(envelope);
    if (!this.#opened.has(digest)) {
      const manifest = await openManifest(envelope, this.#settings.authority);
      this.#opened.set(digest, { ...manifest, envelope, digest });
    }
    return this.#opened.get(digest);
  }

  #followed(state, name) { // sequences belong to an authority
    const { key } = this.#settings;
    if (state.followed.get(name)?.key !== key) state.followed.set(name, { key, accepted: [], highest: -1, seen: new Map(), proofs: [] });
    return state.followed.get(name);
  }

  /** Follow of these envelopes what the declaration fits (D2); return whether any was signed, and why the first was refused. */
  async #offer(survey, envelopes, date = null) {
    const signed = [], { storage, clock, collector } = this.#settings;
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

  #follow(state, survey, offered, now) {
    const row = this.#followed(state, survey.name), decided = state.decided.get(survey.name)?.epoch ?? -1;
    const held = row.accepted.map(({ digest }) => this.#opened.get(digest)).filter(Boolean);
    row.highest = Math.max(row.highest, ...held.filter(({ start }) => start <= now).map(({ sequence }) => sequence));
    const candidates = new Map(held.filter((manifest) => !misfit(manifest, survey)).map((manifest) => [manifest.id, manifest]));
    let refused = null;
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
        const [sum, most, option] = all > lifetime ? [all, lifetime, "lifetimeEpsilon"] : [own, survey.total, "max_total_epsilon"];
        refuse(fresh, "over-budget", `its epochs ahead may bring the sum to ${sum / 1e9}, and ${option} is ${most / 1e9}`);
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
      await new Promise((resolve) => { this.#wake = resolve; setTimeout(resolve, Math.min(nap, 600) * 1000); });
      if (this.#running === running) round();
    };
    this.#running = {};
    round();
  }

  stop() { this.#running = null; this.#abort?.abort(); }
  #wake = () => {};

  /** Return for how long all that was overdue at a start has still to wait: a start is never the moment of a request (D7). */
  async #launching(state, most) {
    const { storage, clock } = this.#settings, now = clock.now(), running = clock.running();
    const late = this.#backAt ? Math.max(now - this.#backAt.now, running - this.#backAt.running) : 0;
    if (!this.#launch || late > SUSPENDED_SECONDS) { // a suspended page comes back as one that was started
      const asks = [...this.#surveys.keys()].some((name) => state.asked.has(name) && this.#dueToAsk(state, name, now) <= now);
      const overdue = asks || state.outbox.some((row) => isDue(row, now));
      const left = overdue || this.#launch?.left > 0 ? Math.min(state.launch ?? jitter() * most, most) : 0;
      this.#launch = { began: running, left, noted: 0 };
      if (left) await storage.update((kept) => kept && { ...kept, launch: Math.min(left, kept.launch ?? left) });
    }
    const launch = this.#launch, ran = running - launch.began, left = launch.left - ran;
    if (launch.left === 0) return 0;
    if (left <= 0) launch.left = 0;
    const note = launch.noted ? 2 * launch.noted : 1 / 4; // what is left is kept across starts, noted at times that double
    if (left <= 0 || ran >= note) {
      launch.noted = ran;
      await storage.update((kept) => kept && { ...kept, launch: left <= 0 ? null : Math.min(left, kept.launch ?? left) });
    }
    return left <= 0 ? 0 : Math.min(left, Math.max(note - ran, note / 2));
  }

  async #send(state) {
    const { storage, clock, spread } = this.#settings;
    if (!state.outbox.some((row) => isDue(row, clock.now()))) return this.#tidy(state);
    if (globalThis.navigator?.onLine === false) return 60; // what cannot leave is no send
    let sent = null;
    await storage.update((kept) => { // counted before it leaves; consent is read again here (D7, D8)
      if (this.#refused || kept?.consent !== "on") return undefined;
      const now = clock.now(), due = kept.outbox.filter((row) => isDue(row, now)).sort((one, other) => one.due - other.due);
      for (const row of due) row.due = now + delay(spread, row.closes - now); // together they would be linked
      if (!(sent = due[0])) return undefined;
      sent.attempts++, sent.unanswered++;
      Object.assign(sent, { due: now + CLAIM_SECONDS, held: rested(sent.attempts, now) });
      return kept;
    });
    if (!sent) return 0;
    const body = concat([0x91], sent.envelope);
    const headers = { "Content-Type": "application/msgpack" };
    const answer = await this.#request("/v1/reports", MAX_ANSWER, { method: "POST", headers, body });
    await storage.update((kept) => {
      const place = kept?.outbox.findIndex((row) => row.name === sent.name && row.epoch === sent.epoch) ?? -1;
      if (place < 0) return undefined; // withdrawn meanwhile
      const became = nextStep(kept.outbox[place], answer, clock.now());
      if (became) settle(kept, place, became, clock.now());
      return kept;
    });
    return 0.001;
  }

  /** Drop what was sent for the last time by a page that was closed then; begin waits anew that a clock put back made long. */
  async #tidy(state) {
    const { storage, clock } = this.#settings, now = clock.now();
    const isOver = (row) => row.attempts >= MOST_SENDS && row.due <= now;
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

  #dueToAsk(state, name, now) {
    const survey = this.#surveys.get(name), row = state.asked.get(name);
    if (!isCovered(state, survey)) return Infinity;
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
        const failures = asks ? row.failures : 0, backoff = Math.min(DAY, 60 * 2 ** failures) * (1 + JITTER * luck);
        const due = now + (asks ? backoff : luck * Math.min(spread, LAUNCH_SECONDS));
        kept.asked.set(name, { digest, failures: failures + asks, due, day, requests: requests + asks, luck });
        return kept;
      });
      if (!asks) continue;
      const answer = await this.#request(`/v1/surveys/${name}/manifests`, MAX_MANIFESTS, {});
      if (await this.#judgeManifests(survey, answer)) {
        await storage.update((kept) => {
          if (kept) Object.assign(kept.asked.get(name), { failures: 0, due: clock.now() + DAY * (1 + JITTER * jitter()) });
          return kept ?? undefined;
        });
      }
      return 0.001;
    }
    return 0;
  }

  /** Offer an answer's manifests; return whether a day may pass before the next request. */
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

  /** Make one request that tells nothing but itself; return { status, type, date, retry, body }, or null if no answer came. */
  async #request(path, most, given) {
    const { collector, fetch } = this.#settings; // called as a plain function: browsers want no other receiver
    this.#abort = new AbortController();
    const timer = setTimeout((abort) => abort.abort(), REQUEST_SECONDS * 1000, this.#abort);
    try {
      const answer = await fetch(`${collector}${path}`, { ...given, mode: "cors", credentials: "omit", cache: "no-store",
        redirect: "error", referrerPolicy: "no-referrer", signal: this.#abort.signal });
      let body = new Uint8Array();
      for (let reader = answer.body?.getReader(), part; reader && !(part = await reader.read()).done;) {
        body = concat(body, part.value);
        if (body.length > most) { await reader.cancel(); return { status: 0, type: "", body }; }
      }
      const [type, date, retry] = ["content-type", "date", "retry-after"].map((name) => answer.headers.get(name));
      return { status: answer.status, type: type ?? "", date, retry, body };
    } catch { return null; } finally { clearTimeout(timer); }
  }
}

const notRecorded = (error) => ({ status: "not-recorded", epoch: null, from: error.from ?? null,
  why: error instanceof NotRecorded ? error.message : `the browser keeps nothing (${error.name})` });

const spentIn = (state) => [...state.spent.values()].reduce((sum, cost) => sum + cost, 0);

const isCovered = (state, { name, digest, bounds }) => state.covered.some((scope) => scope.name === name && scope.digest === digest
  && bounds.every((bound, i) => BigInt(bound) <= BigInt(scope.bounds[i])));

const NOT_PINNED = "it is none of those that the app accepts by their ids";

/** Return why a manifest is not what the app declared (D1, D2), or "". */
function misfit(manifest, survey) {
  if (manifest.name.startsWith("simulated-")) return "it is simulated";
  if (survey.pinned_ids && !survey.pinned_ids.includes(manifest.id)) return NOT_PINNED;
  if (manifest.question !== survey.question) return "the question differs";
  if (JSON.stringify(manifest.categories) !== JSON.stringify(survey.categories)) return "the categories differ";
  const kind = of(manifest.mechanism, "kind");
  if (kind === "mean" && !survey.mechanisms?.includes(kind)) return "its mechanism is not declared";
  if (!atMost(exact(manifest.epsilon), exact(survey.max_epsilon))) return "its epsilon exceeds the app's";
  if (!atMost(exact(manifest.delta), exact(survey.max_delta))) return "its delta exceeds the app's";
  if (manifest.epoch_seconds < survey.min_epoch_seconds) return "its epochs are too short";
  if (manifest.epoch_seconds > survey.max_epoch_seconds) return "its epochs are too long";
  return manifest.grace_seconds > survey.max_grace_seconds ? "its reports would be kept too long" : "";
}

/** Return the manifests to follow, the older first: the newest that has begun, and the next to begin. */
function chosenOf(candidates, now) {
  const sorted = candidates.toSorted((one, other) => one.sequence - other.sequence);
  const begun = sorted.filter(({ start }) => start <= now).slice(-1);
  const coming = sorted.filter(({ start, sequence }) => start > now && sequence > (begun[0]?.sequence ?? -1));
  return [...begun, ...coming.sort((one, other) => one.start - other.start || other.sequence - one.sequence).slice(0, 1)];
}

/** Return what the epochs ahead of these manifests, the older first, may cost: each until the next one begins (D3). */
function ahead(manifests, decided, now) {
  return manifests.reduce((sum, { start, epoch_seconds, epochs, cost }, i) => {
    const first = Math.max(0, decided + 1, Math.floor((now - start) / epoch_seconds));
    const end = Math.ceil(((manifests[i + 1]?.start ?? Infinity) - start) / epoch_seconds);
    return sum + Math.max(0, Math.min(epochs, end) - first) * cost;
  }, 0);
}

const delay = (spread, left) => jitter() * (left > 0 ? Math.min(spread, left / 2) : spread);
const isDue = (row, now) => row.attempts < MOST_SENDS && row.due <= now && row.held <= now;
/** Return before when no send may follow so many sends: from the third on they are a day apart (D8). */
const rested = (sends, now) => (sends >= 2 ? now + DAY : 0);

function settle(state, place, became, now) {
  const [{ name, epoch }] = state.outbox.splice(place, 1); // its bytes go at once; the decision stays, with its day (D4, D9)
  if (state.decided.get(name)?.epoch === epoch) Object.assign(state.decided.get(name), { became, day: Math.floor(now / DAY) });
}

/** Give a report that was sent its next time; or return what became of it. */
function nextStep(row, answer, now) {
  const code = verdictOf(answer), [remedy] = CODES[code] ?? [], luck = jitter();
  if (code !== null) row.unanswered--;
  if (code === "accepted" || code === "duplicate") return code;
  if (remedy === "too late") return row.unanswered ? "may-have-been-counted" : code;
  if (remedy === "drop") return row.unanswered && code === "not-enrolled" ? "may-have-been-counted" : code;
  if (row.attempts >= MOST_SENDS) return "unanswered";
  const asked = code === null ? 0 : retryAfter(answer.retry) * (1 + JITTER * jitter());
  let later = now + Math.max(Math.min(3600, 30 * 2 ** (row.attempts - 1)) * (1 - luck / 2), asked);
  if (code === "too-early" && row.attempts > 3) later = Math.max(later, row.starts);
  if (row.attempts >= 2) later = Math.max(later, now + DAY * (1 + JITTER * luck));
  row.due = later;
  row.held = row.attempts >= 2 || code !== null ? later : 0; // an answer asks not to come before its time; silence does not
  return null;
}
