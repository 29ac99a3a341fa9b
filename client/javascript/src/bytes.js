/** Bytes, and the one form of messages: canonical msgpack. What has another form is refused. */

/** @typedef {Uint8Array<ArrayBuffer>} Bytes */

/** A message from elsewhere that is not acceptable; `code` is the protocol's where it has one. */
export class Refused extends Error {
  /** @param {string} code @param {string} reason */
  constructor(code, reason) {
    super(`${code}: ${reason}`);
    this.code = code;
  }
}

/** @param {string} reason @returns {never} */
export function malformed(reason) { throw new Refused("malformed", reason); }

/** @param {unknown} holds @param {string} reason @returns {asserts holds} */
export function demand(holds, reason) { if (!holds) malformed(reason); }

const writer = new TextEncoder();
/** @param {string} text @returns {Bytes} */
export const utf8 = (text) => Uint8Array.from(writer.encode(text));
const reader = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** @param {Bytes} bytes */
export const fromUtf8 = (bytes) => reader.decode(bytes);
/** @param {Bytes} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
/** @param {string} text @returns {Bytes} */
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
/** @param {string} text @returns {Bytes} */
export const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** @param {ArrayLike<number>[]} parts @returns {Bytes} */
export function concat(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

/** @param {number | bigint} value @param {number} width */
export const bigEndian = (value, width) => fromHex(BigInt(value).toString(16).padStart(2 * width, "0"));
/** @param {Bytes} bytes */
export const littleEndian = (bytes) => BigInt(`0x${hex(Uint8Array.from(bytes).reverse())}`);
/** @param {unknown} value @param {number} [length] @returns {value is Bytes} */
export const isBytes = (value, length) => value instanceof Uint8Array && (length === undefined || value.length === length);

/** Return the one encoding of an unsigned integer, null, bytes, or an array of these. @param {unknown} value @returns {Bytes} */
export function encode(value) {
  /** @param {number | bigint} size @param {number[][]} forms */
  const sized = (size, forms) => {
    const [first, width] = /** @type {number[]} */ (forms.find(([, , most]) => size <= most));
    return width ? concat([first], bigEndian(size, width)) : [first + Number(size)];
  };
  if (value === null) return Uint8Array.of(0xc0);
  if (Array.isArray(value)) {
    return concat(sized(value.length, [[0x90, 0, 15], [0xdc, 2, 0xffff], [0xdd, 4, 2 ** 32]]), ...value.map(encode));
  }
  if (isBytes(value)) return concat(sized(value.length, [[0xc4, 1, 0xff], [0xc5, 2, 0xffff], [0xc6, 4, 2 ** 32]]), value);
  const forms = [[0, 0, 127], [0xcc, 1, 0xff], [0xcd, 2, 0xffff], [0xce, 4, 0xffffffff], [0xcf, 8, Infinity]];
  return Uint8Array.from(sized(/** @type {number | bigint} */ (value), forms));
}

/**
 * Decode one canonical value: null, a text, bytes, an array, a map, or a whole number, which is a bigint if it exceeds 2^53. What
 * the protocol has no use for is malformed; only a manifest's weights exceed 63 bits.
 * @param {Bytes} bytes
 * @returns {unknown}
 */
export function decode(bytes, deepest = 8, bits = 63n) {
  let at = 0;
  /** @param {number} count */
  const take = (count) => {
    demand(count <= bytes.length - at, "it is truncated");
    return bytes.subarray(at, at += count);
  };
  /** @param {number} width @param {number | bigint} least */
  const number = (width, least) => {
    const value = BigInt(`0x${hex(take(width))}`);
    demand(value >= least && !(value >> bits), "the encoding is not canonical");
    return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
  };
  /** @param {number} width @param {number} least */
  const size = (width, least) => Number(number(width, least));
  /** @param {number} length */
  const text = (length) => { try { return fromUtf8(take(length)); } catch { return malformed("not a text"); } };
  /** @template T @param {number} count @param {number} depth @param {(depth: number) => T} read */
  const many = (count, depth, read) => {
    demand(depth < deepest && count <= bytes.length, "nested too deeply, or truncated");
    return Array.from({ length: count }, () => read(depth + 1));
  };
  /** @param {number} count @param {number} depth */
  const map = (count, depth) => {
    const read = new Map(many(count, depth, (inner) => /** @type {const} */ ([value(inner), value(inner)])));
    demand(read.size === count && [...read.keys()].every((key) => typeof key === "string"), "a key twice, or no text");
    return read;
  };
  /** @param {number} depth @returns {unknown} */
  const value = (depth) => {
    const [first] = take(1);
    if (first < 0x80) return first;
    if (first < 0x90) return map(first & 15, depth);
    if (first < 0xa0) return many(first & 15, depth, value);
    if (first < 0xc0) return text(first & 31);
    switch (first) {
      case 0xc0: return null;
      case 0xc4: return take(size(1, 0));
      case 0xc5: return take(size(2, 1 << 8));
      case 0xc6: return take(size(4, 1 << 16));
      case 0xcc: return number(1, 128);
      case 0xcd: return number(2, 1 << 8);
      case 0xce: return number(4, 1 << 16);
      case 0xcf: return number(8, 1n << 32n);
      case 0xd9: return text(size(1, 32));
      case 0xda: return text(size(2, 1 << 8));
      case 0xdb: return text(size(4, 1 << 16));
      case 0xdc: return many(size(2, 16), depth, value);
      case 0xdd: return many(size(4, 1 << 16), depth, value);
      case 0xde: return map(size(2, 16), depth);
      default: return malformed("a type that no message has");
    }
  };
  const decoded = value(0);
  demand(at === bytes.length, "bytes behind the message");
  return decoded;
}

/** @param {unknown} value @param {string} key @returns {unknown} */
export const of = (value, key) => (value instanceof Map ? value.get(key) : undefined);

/**
 * Return a decoded map with exactly these keys in this order; each value's type is still to be checked.
 * @param {unknown} value
 * @param {string[]} keys
 * @returns {Record<string, any>}
 */
export function fieldsOf(value, ...keys) {
  demand(value instanceof Map && [...value.keys()].join() === keys.join(), "a map has other keys");
  return Object.fromEntries(value);
}
