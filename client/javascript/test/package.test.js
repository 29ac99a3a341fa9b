// What is shipped is small, and has no dependencies.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const MOST = 20_000;
const installed = await import("terser").then(() => true, () => false);

test("all modules together are at most 20 kB, compressed", { skip: installed ? false : "needs npm ci" }, async () => {
  const { shipped } = await import("../build.mjs"), modules = await shipped();
  const whole = [...modules.values()].map(({ code }) => code).join("");
  const size = gzipSync(whole, { level: 9 }).length;
  assert.ok(size <= MOST, `${size} bytes`);
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  assert.match(readme, new RegExp(`${(Math.ceil(size / 100) / 10).toFixed(1)} kB`), "the README has another size");
  for (const [, from] of whole.matchAll(/(?:from|import\()\s*"([^"]*)"/g)) assert.ok(modules.has(from.replace("./", "")), from);
});

test("it can be imported where there are no elements", async () => {
  assert.ok((await import("../src/consent.js")).DeniableConsent);
});
