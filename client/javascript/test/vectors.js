// The package on the vectors of its kinds, in Node and in a page alike: each check throws if it fails.
import { tried } from "./trials.js";

const KINDS = ["affine", "levels", "mean", "randomised-response", "subset"];
const kindsOf = (kinds) => [...new Set(kinds)].sort().join();

/** Demand that two values are the same in JSON. */
function same(ours, expected, what) {
  const [one, other] = [ours, expected].map((value) => JSON.stringify(value));
  if (one !== other) throw new Error(`${what}: ${one}, not ${other}`);
}

/** Compare what comes of valid tests by these names, and the codes of others; `also` allows another refusal. */
async function compare(topic, tests, names, also = () => false) {
  if (!tests.length) throw new Error("no tests");
  const results = await tried(topic, tests);
  tests.forEach((given, i) => {
    const expected = given.result === "invalid" ? ["code"] : names.filter((name) => name in given);
    if (also(given, results[i])) return;
    for (const name of expected) same(results[i][name], given[name], `${given.tcId} ${given.comment}: ${name} of ${JSON.stringify(results[i])}`);
  });
  return results;
}

const isOfKinds = ({ mechanism }) => KINDS.includes(mechanism.kind);

/** By what each shows; `read` returns the tests of a topic. */
export const CHECKS = {
  "msgpack has one form": async (read) => compare("msgpack", await read("msgpack"), ["value", "encoded"]),
  "mechanisms are the same integers": async (read) => {
    const tests = (await read("mechanisms")).filter(isOfKinds);
    const asked = tests.map((one) => (one.mechanism.kind === "mean" ? { ...one, ratio: "0" } : one)); // the odds are the same
    await compare("mechanisms", asked, ["lies", "inside", "outside", "responses", "first_row", "middle_row", "ratio"]);
  },
  "the same words give the same response": async (read) => {
    const tests = (await read("samplers")).filter(isOfKinds);
    same(kindsOf(tests.map(({ mechanism }) => mechanism.kind)), KINDS.join(), "kinds");
    await compare("samplers", tests, ["response", "consumed"]);
  },
  "reports are the same bytes": async (read) => {
    const tests = (await read("report_keys")).filter(({ credential }) => credential === null);
    await compare("report_keys", tests, ["envelope"]);
  },
  "manifests are taken, or refused by their code": async (read) => {
    // Of another kind, repetition or enrolment, what is wrong besides may be seen first, or not.
    const isForeign = ({ kind, repeat, enrolment }, { code }) => code === "unsupported"
      && (!KINDS.includes(kind) || repeat !== "fresh" || enrolment !== "open");
    const tests = await read("manifests"), results = await compare("manifests", tests, ["survey_id"], isForeign);
    const taken = tests.filter((_, i) => "survey_id" in results[i]);
    same(kindsOf(taken.map(({ fields }) => fields.mechanism.kind)), KINDS.join(), "kinds that are taken");
    same(kindsOf(taken.map(({ result }) => result)), "valid", "what is taken");
  },
  "offered manifests are told apart": async (read) => {
    const tests = (await read("offered_manifests")).map((one) => ({ ...one, envelopes: (one.offered ?? []).map(([envelope]) => envelope) }));
    await compare("offered_manifests", tests, ["envelopes"]);
  },
  "answers are acted on only if they are known": async (read) => {
    const tests = (await read("answers")).filter(({ sent }) => sent === 1);
    await compare("answers", tests.map(({ result, ...given }) => {
      const counted = given.status === 200 ? given.refused?.[0]?.code ?? (given.accepted ? "accepted" : "duplicate") : given.problem;
      return { ...given, verdict: result === "valid" ? counted : null };
    }), ["verdict"]);
  },
};

/** Return the tests of a file, each with what its group shares. */
export const testsIn = ({ testGroups }) => testGroups.flatMap(({ tests, ...shared }) => tests.map((one) => ({ ...shared, ...one })));
