/** Mechanisms: how chance makes a response of an answer, in exact integers (docs/protocol.md has their laws). */

import { demand, fieldsOf, of, Refused } from "./bytes.js";
import { atMost, ceilDiv, expEnclosure, GRID, isUint, WORD } from "./exact.js";

/** @import { Fraction } from "./exact.js" */
/** @typedef {() => bigint} Draw Returns 64 uniform bits. */

/**
 * What answers are randomised by. `odds` is how many times as likely a response is at most with one answer as with another. Of
 * what people are shown, `hit` is how often a response holds the answer, if one holds any, and `miss` how often another given one.
 * @typedef {object} Mechanism
 * @property {number} responses
 * @property {Fraction} odds
 * @property {(answer: number, draw: Draw) => number} randomise
 * @property {Fraction} [hit]
 * @property {Fraction} [miss]
 * @property {bigint} [lie]
 * @property {bigint} [inside]
 * @property {bigint} [outside]
 * @property {bigint[][]} [rows]
 * @property {Mechanism[]} [parts]
 */

/** 64 uniform bits of the browser's generator: the only source that makes an answer private. @type {Draw} */
export const randomWord = () => crypto.getRandomValues(new BigUint64Array(1))[0];

/** @typedef {{ K: bigint, l: bigint, s: bigint, r: bigint, t: bigint }} Sizes */

/**
 * Of K blocks on l positions, s a base block, r hold a point and t any two: outside = ceil(N / (s E' + l - s)) for the odds
 * E' = ((r - t) e^epsilon + delta (K - r)) / ((r - t) - delta r), rounded up, to privacy. Both ends of the enclosure of
 * e^epsilon must agree. Randomised response is the design of single points.
 * @param {Sizes} sizes
 * @param {Fraction} epsilon
 * @param {Fraction} delta
 */
function leastOutside({ K, l, s, r, t }, epsilon, [a, b]) {
  for (let bits = 192n; ; bits *= 2n) {
    const [low, high] = expEnclosure(epsilon, bits).map((end) => {
      const numerator = (r - t) * end * b + ((a * (K - r)) << bits), denominator = ((r - t) * b - a * r) << bits;
      return ceilDiv(GRID * denominator, s * numerator + (l - s) * denominator);
    });
    if (low === high) return low;
  }
}

/**
 * Check (D2) that weights more : less, of which r - t tell two answers apart, are as private as is stated.
 * @param {bigint} more
 * @param {bigint} less
 * @param {bigint} apart
 * @param {bigint} total
 * @param {Fraction} epsilon
 * @param {Fraction} delta
 */
function certify(more, less, apart, total, epsilon, [a, b]) {
  const [low] = expEnclosure(epsilon, 128n), excess = (more << 128n) - low * less;
  demand(more > less && (excess <= 0n || apart * excess * b <= (a * total) << 128n), "its probabilities exceed its epsilon");
}

/** @param {number} k @param {Fraction} epsilon @param {Fraction} delta @returns {Mechanism} */
function randomisedResponse(k, epsilon, delta) {
  const count = BigInt(k), lie = leastOutside({ K: count, l: count, s: 1n, r: 1n, t: 0n }, epsilon, delta);
  demand(count * lie < GRID, "2^64 does not resolve so many categories; raise epsilon");
  const truth = GRID - (count - 1n) * lie;
  certify(truth, lie, 1n, GRID, epsilon, delta);
  return {
    responses: k, odds: [truth, lie], hit: [truth, GRID], lie,
    randomise(answer, draw) { // both outcomes are computed and one is selected
      const named = Number(draw() / lie);
      return [answer, named][+(named < k)];
    },
  };
}

/** @typedef {Sizes & { turned: (base: number, position: number, answer: number) => number }} Design */

/**
 * A design that is turned: the base block is drawn without a look at the answer, then turned until the position, one that
 * the block holds with the weight inside, lies at the answer. What s does not divide of the words is blank.
 * @param {Design} design
 * @param {Fraction} epsilon
 * @param {Fraction} delta
 * @returns {Mechanism}
 */
function turnedDesign({ K, l, s, r, t, turned }, epsilon, [a, b]) {
  demand(a * r < b * (r - t), "delta allows any response");
  /** @type {Fraction} */
  const slack = [a << 128n, b * ((1n << 128n) + K)]; // a base block is drawn by 128 bits
  const outside = leastOutside({ K, l, s, r, t }, epsilon, slack);
  const rest = GRID - (l - s) * outside, inside = rest / s, blank = rest % s, total = K * GRID;
  demand(rest > 0n && inside > outside, "2^64 does not resolve this design; raise epsilon");
  const more = l * inside + blank, less = l * outside + blank;
  certify(more, less, r - t, total, epsilon, slack);
  return {
    responses: Number(K), odds: [more, less], hit: [r * more, total], miss: [t * more + (r - t) * less, total], inside, outside,
    randomise(answer, draw) {
      const word = draw(), first = (l - s) * outside;
      const missed = s + word / outside, held = (word - first) / inside;
      const base = Number((((draw() << WORD) | draw()) * K) >> 128n);
      const position = Number([missed, held][+(word >= first)]);
      return [turned(base, position, answer), base][+(word >= GRID - blank)];
    },
  };
}

/** @param {number} n @param {number} k */
function comb(n, k) {
  let product = 1n;
  for (let i = 0; i < k; i++) product = (product * BigInt(n - i)) / BigInt(i + 1);
  return k < 0 ? 0n : product;
}

/** @param {number} k @param {unknown} d @returns {Design} */
function subsetDesign(k, d) {
  demand(isUint(d, 1, k - 1) && Math.min(d, k - d) <= 20, "no such subsets");
  const K = comb(k, d);
  demand(K <= 1n << 20n && K * BigInt(d) <= 1n << 23n, "too many subsets");
  /** @param {number} rank */
  const members = (rank) => { // the greatest first
    const set = [];
    for (let places = d, x = k - 1; places > 0; places--, x--) {
      while (comb(x, places) > rank) x--;
      rank -= Number(comb(x, places));
      set.push(x);
    }
    return set;
  };
  return {
    K, l: BigInt(k), s: BigInt(d), r: comb(k - 1, d - 1), t: comb(k - 2, d - 2),
    turned(base, position, answer) {
      const set = members(base);
      let placed = position < d ? set[position] : position - d;
      if (position >= d) for (const member of [...set].reverse()) placed += +(member <= placed);
      return set.map((x) => (((x + answer - placed) % k) + k) % k).sort((x, y) => x - y)
        .reduce((rank, x, i) => rank + Number(comb(x, i + 1)), 0);
    },
  };
}

/** @param {number} a @param {number} b @returns {number} */
const gcd = (a, b) => (b ? gcd(b, a % b) : a);
/** @param {number} q */
const isPrime = (q) => {
  for (let factor = 2; factor * factor <= q; factor++) if (q % factor === 0) return false;
  return q > 1;
};

/** @param {number} k @param {unknown} q @param {unknown} m @param {unknown} s @returns {Design} */
function affineDesign(k, q, m, s) {
  demand(isUint(q, 2, (1 << 17) - 1) && isPrime(q) && isUint(m, 1, 20) && isUint(s, 1, q - 1), "no such affine design");
  /** @param {number} multipliers */
  const withSign = (multipliers) => (q === 2 ? multipliers : (2 * multipliers) / gcd(2, multipliers));
  const without = gcd(s, q - 1), holding = gcd(s - 1, q - 1), zero = withSign(holding) >= withSign(without);
  const h = zero ? holding : without, n = withSign(h);
  const points = BigInt(q) ** BigInt(m), others = points - 1n, S = BigInt(s), vectors = BigInt(n);
  const K = (BigInt(q) * others) / vectors;
  demand(K <= 1n << 20n && BigInt(k) <= points, "too many responses, or categories");
  /** @type {number[]} */
  let powers = [];
  for (let g = 1; powers.length < q - 1; g++) {
    powers = [1];
    for (let power = g; power !== 1 && powers.length < q; power = (power * g) % q) powers.push(power);
  }
  const cosets = powers.map((_, i) => powers[(i % h) * ((q - 1) / h) + Math.floor(i / h)]);
  const residues = zero ? [0, ...cosets] : [...cosets, 0], firsts = (q - 1) / n;
  /** @param {number} index */
  const vector = (index) => {
    let unit = 1;
    for (; index >= firsts * unit; unit *= q) index -= firsts * unit;
    return powers[Math.floor(index / unit)] * unit + (index % unit);
  };
  /** @param {number} one @param {number} other */
  const product = (one, other) => {
    let total = 0;
    for (; one; one = Math.floor(one / q), other = Math.floor(other / q)) total += (one % q) * (other % q);
    return total % q;
  };
  return {
    K, l: BigInt(q), s: S, r: (S * others) / vectors, t: ((points / BigInt(q)) * S * S - S) / vectors,
    turned(base, position, answer) {
      const index = Math.floor(base / q);
      return index * q + ((residues[position] - product(vector(index), answer) + q) % q);
    },
  };
}

/**
 * Rows over 2^64 whose mean responses rise in equal steps. Of more answers than rows, one between two takes either, drawn
 * with exact odds. Words are compared with all sums of a row, so that the work says nothing of the answer.
 * @param {number} k
 * @param {unknown} weights
 * @param {Fraction} epsilon
 * @param {Fraction} delta
 * @returns {Mechanism}
 */
function meanMatrix(k, weights, epsilon, delta) {
  demand(delta[0] === 0n && k <= 4096 && Array.isArray(weights) && isUint(weights.length, 2, Math.min(49, k)), "no such rows");
  /** @type {(number | bigint)[][]} */
  const given = weights, R = given[0]?.length;
  demand(isUint(R, 2, 32) && given.every((row) => Array.isArray(row) && row.length === R
    && row.every((weight) => typeof weight === "bigint" || isUint(weight, 1))), "no such weights");
  const rows = given.map((row) => row.map(BigInt));
  /** @param {bigint[]} row */
  const total = (row) => row.reduce((sum, weight) => sum + weight, 0n);
  demand(rows.every((row) => total(row) === GRID), "a row does not sum to 2^64");
  const means = rows.map((row) => total(row.map((weight, y) => weight * BigInt(y)))), rise = means[1] - means[0];
  demand(rise > 0n && means.every((mean, j) => mean === means[0] + BigInt(j) * rise), "means do not rise in equal steps");
  const steps = rows.length - 1, between = steps + 1 === k ? 1 : k - 1;
  /** @param {number} answer */
  const place = (answer) => [Math.trunc((answer * steps) / (k - 1)), (answer * steps) % (k - 1)];
  const mixtures = Array.from({ length: k }, (_, answer) => {
    const [j, rest] = place(answer), above = rows[Math.min(j + 1, steps)];
    return rows[j].map((weight, y) => BigInt(between - rest) * weight + BigInt(rest) * above[y]);
  });
  const odds = greatest(rows[0].map((_, y) => {
    let [most, least] = [mixtures[0][y], mixtures[0][y]];
    for (const { [y]: weight } of mixtures) {
      if (weight > most) most = weight;
      if (weight < least) least = weight;
    }
    return [most, least];
  }));
  demand(odds[0] << 128n <= expEnclosure(epsilon, 128n)[0] * odds[1], "its probabilities exceed its epsilon");
  return {
    responses: R, odds, rows: mixtures,
    randomise(answer, draw) {
      const drawn = below(between, draw), [j, rest] = place(answer), word = draw();
      let sum = 0n, response = 0;
      for (const weight of rows[j + +(drawn < rest)]) response += +(word >= (sum += weight));
      return response;
    },
  };
}

/** @param {Fraction[]} fractions */
const greatest = (fractions) => fractions.reduce((worst, other) => (atMost(other, worst) ? worst : other));

/** Return a uniform number below a bound, of the last bits of as many words as it takes. @param {number} bound @param {Draw} draw */
function below(bound, draw) {
  const mask = (1n << BigInt((bound - 1).toString(2).length)) - 1n;
  let drawn = 0;
  if (bound > 1) do drawn = Number(draw() & mask); while (drawn >= bound);
  return drawn;
}

/**
 * Levels of a tree over ordered answers. The level is drawn before there is a look at the answer; then the node that holds the
 * answer there is randomised by the level's own mechanism, at the full epsilon.
 * @param {number} k
 * @param {unknown} widths
 * @param {unknown} mechanisms
 * @param {Fraction} epsilon
 * @param {Fraction} delta
 * @returns {Mechanism}
 */
function levels(k, widths, mechanisms, epsilon, delta) {
  demand(Array.isArray(widths) && widths.every((width, j) => isUint(width, 1, k - 1)
    && (j === widths.length - 1 ? width === 1 : width > widths[j + 1] && width % widths[j + 1] === 0)), "no such widths");
  demand(widths.length && k <= 4096 && Array.isArray(mechanisms) && mechanisms.length === widths.length, "no such levels");
  const parts = mechanisms.map((given, j) => {
    demand(Array.isArray(given), "no mechanism of a level");
    const [kind, ...values] = given, names = FIELDS.get(kind);
    if (kind === "difference-set") throw new Refused("unsupported", "a level of a kind that this device cannot certify");
    demand(names && values.length === names.length, "no such mechanism of a level");
    return alike(kind, Math.ceil(k / widths[j]), values, epsilon, delta);
  });
  const starts = parts.map((_, j) => parts.slice(0, j).reduce((sum, { responses }) => sum + responses, 0));
  const responses = starts[parts.length - 1] + parts[parts.length - 1].responses;
  demand(responses <= 1 << 20, "too many responses");
  /** @type {Fraction[]} */
  const hits = parts.map(({ hit }) => hit ?? [0n, 1n]);
  return {
    responses, odds: greatest(parts.map(({ odds }) => odds)), parts,
    hit: hits.map(([p, q]) => /** @type {Fraction} */ ([p, q * BigInt(parts.length)])).reduce(([a, b], [c, d]) => [a * d + c * b, b * d]),
    randomise(answer, draw) {
      const j = below(parts.length, draw);
      return starts[j] + parts[j].randomise(Math.floor(answer / widths[j]), draw);
    },
  };
}

/** The parameters of kinds that treat any two answers alike, of which a level may be. */
const FIELDS = new Map([["randomised-response", []], ["subset", ["d"]], ["affine", ["q", "m", "s"]]]);

/** @param {string} kind @param {number} k @param {unknown[]} values @param {Fraction} epsilon @param {Fraction} delta */
function alike(kind, k, values, epsilon, delta) {
  const [first, m, s] = values;
  if (kind === "randomised-response") return randomisedResponse(k, epsilon, delta);
  return turnedDesign(kind === "subset" ? subsetDesign(k, first) : affineDesign(k, first, m, s), epsilon, delta);
}

/**
 * Return the mechanism of a manifest's map, certified to be as private as is stated; others are refused (D2).
 * @param {unknown} map
 * @param {number} categories
 * @param {Fraction} epsilon
 * @param {Fraction} delta
 * @returns {Mechanism}
 */
export function mechanismOf(map, categories, epsilon, delta) {
  demand(atMost(epsilon, [40n, 1n]) && delta[0] < delta[1] && (epsilon[0] || delta[0]), "epsilon or delta is out of its domain");
  const kind = of(map, "kind"), names = typeof kind === "string" && FIELDS.get(kind);
  if (names) return alike(/** @type {string} */ (kind), categories, Object.values(fieldsOf(map, "kind", ...names)).slice(1), epsilon, delta);
  if (kind === "mean") return meanMatrix(categories, fieldsOf(map, "kind", "weights").weights, epsilon, delta);
  if (kind === "levels") {
    const { widths, mechanisms } = fieldsOf(map, "kind", "widths", "mechanisms");
    return levels(categories, widths, mechanisms, epsilon, delta);
  }
  throw new Refused("unsupported", "a kind that this device cannot certify");
}
