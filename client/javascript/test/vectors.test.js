// The package on the vectors, in Node.
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CHECKS, testsIn } from "./vectors.js";

const folder = new URL("../../../tests/vectors/", import.meta.url);
const read = (topic) => testsIn(JSON.parse(readFileSync(new URL(`${topic}.json`, folder), "utf8")));

for (const [name, check] of Object.entries(CHECKS)) test(name, () => check(read));
