// The device of client/javascript as the conformance kit drives it, in Node: a line of JSON for a line of JSON.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { deserialize, serialize } from "node:v8";
import { answering } from "./conformance_answers.mjs";

/** A storage in one file of a directory, which is replaced as a whole. */
function fileStorage(directory) {
  const file = `${directory}/device`;
  const read = () => (existsSync(file) ? deserialize(readFileSync(file)) : null);
  return {
    read: async () => read(),
    async update(change) {
      const kept = change(read());
      if (kept === undefined) return;
      const written = openSync(`${file}.new`, "w");
      writeSync(written, serialize(kept));
      fsyncSync(written);
      closeSync(written);
      renameSync(`${file}.new`, file);
      const folder = openSync(directory, "r");
      fsyncSync(folder);
      closeSync(folder);
    },
  };
}

const answer = answering(fileStorage, { own_connections: false, erases: true });
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
