// What the package makes of the vectors, in Node and in a page alike.
import { verdictOf } from "../src/answers.js";
import { decode, encode, fromHex, hex } from "../src/bytes.js";
import { Device } from "../src/device.js";
import { exact } from "../src/exact.js";
import { offeredIn, openManifest } from "../src/manifests.js";
import { mechanismOf, randomWord } from "../src/mechanisms.js";
import { signReport } from "../src/signing.js";

const mechanism = ({ mechanism: map, categories, epsilon = "40", delta = "0" }) => {
  const fields = new Map(Object.entries(map));
  if (map.weights) fields.set("weights", map.weights.map((row) => row.map(BigInt)));
  return mechanismOf(fields, categories, exact(epsilon), exact(delta));
};
/** Return a storage that a test looks into by no other way. */
function memory() {
  let kept = null;
  return { read: async () => structuredClone(kept), async update(change) { kept = structuredClone(change(structuredClone(kept)) ?? kept); } };
}

/** Return a decoded value as the vectors write it. */
function written(value) {
  if (value === null) return { nil: true };
  if (value instanceof Uint8Array) return { bytes: hex(value) };
  if (Array.isArray(value)) return { array: value.map(written) };
  if (value instanceof Map) return { map: Array.from(value, ([key, inner]) => [key, written(inner)]) };
  return typeof value === "string" ? { text: value } : { uint: String(value) };
}

const TRIALS = {
  msgpack(test) {
    const value = decode(fromHex(test.encoded));
    const ours = !JSON.stringify(written(value)).match(/"(text|map)":/); // which no report has
    return { value: written(value), encoded: ours ? hex(encode(value)) : test.encoded };
  },
  mechanisms(test) {
    const { lie, inside, outside, responses, rows, odds } = mechanism(test);
    const [first_row, middle_row] = rows ? [rows[0], rows[rows.length >> 1]].map((row) => row.map(String)) : [];
    if (rows) return { first_row, middle_row, ratio: String(odds[0] * BigInt(test.odds[1]) - odds[1] * BigInt(test.odds[0])) };
    return lie === undefined ? { inside: String(inside), outside: String(outside), responses } : { lies: String(lie) };
  },
  samplers(test) {
    const words = test.words.map(BigInt);
    let consumed = 0;
    const response = mechanism(test).randomise(test.answer, () => words[consumed++]);
    return { response, consumed };
  },
  async manifests(test) {
    const { id, question, categories } = await openManifest(fromHex(test.envelope), fromHex(test.authority));
    return { survey_id: id, question, categories };
  },
  offered_manifests(test) {
    return { envelopes: offeredIn(fromHex(test.body)).map(hex) };
  },
  async report_keys(test) {
    const secret = fromHex(test.device_secret), survey = fromHex(test.survey_id);
    return { envelope: hex(await signReport(secret, survey, Number(test.epoch), Number(test.response))) };
  },
  answers(test) {
    const body = new TextEncoder().encode(test.body);
    return { verdict: verdictOf({ status: test.status, type: test.content_type, body }) };
  },
  drawn({ count, ...test }) { // how often each response comes of the generator's own words
    const counts = Array(test.responses).fill(0), made = mechanism(test);
    for (let i = 0; i < count; i++) counts[made.randomise(test.answer, randomWord)]++;
    return { counts };
  },
  async ceilings({ moments, ...options }) { // what becomes of a report at each moment, of the manifests that a page has then
    const outcomes = [], storage = memory();
    for (const { at, manifests } of moments) {
      const clock = { now: () => at, running: () => at }, [{ name, categories }] = options.surveys;
      const made = new Device({ ...options, manifests, storage, clock });
      await made.consent("on");
      const { status, why } = await made.report(name, categories[0]);
      outcomes.push([status, why]);
    }
    return { outcomes };
  },
  async lines({ language, ...options }) { // the three lines of each survey, before consent
    const explained = await new Device({ ...options, storage: memory() }).explain(language);
    return { lines: explained.map(({ lines }) => lines) };
  },
};
/** Return the outputs of the tests of a topic, or the code that each is refused with. */
export async function tried(topic, tests) {
  const results = [];
  for (const test of tests) {
    try {
      results.push(await TRIALS[topic](test));
    } catch (error) {
      results.push({ code: error.code ?? String(error.stack) });
    }
  }
  return results;
}
