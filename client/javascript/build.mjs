// Makes the npm package in a folder, and its tarball beside it: node build.mjs FOLDER [VERSION]. What is shipped are the modules
// of src without comments and white space, with short names of what is local: no code is changed. Maps have the sources in full.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { minify } from "terser";

const here = new URL(".", import.meta.url);
const at = (path) => fileURLToPath(new URL(path, here));

/** Return what is shipped of each module, and its map, by its name. */
export async function shipped() {
  const names = readdirSync(at("src")).filter((name) => name.endsWith(".js")).sort();
  return new Map(await Promise.all(names.map(async (name) => {
    const sourceMap = { filename: name, url: `${name}.map`, includeSources: true };
    const options = { module: true, ecma: 2020, compress: false, format: { comments: false }, sourceMap };
    return [name, await minify({ [`src/${name}`]: readFileSync(at(`src/${name}`), "utf8") }, options)];
  })));
}

/** Write the package's files into a folder that is made anew, and pack them beside it. */
async function build(folder, version) {
  const out = `${folder}/package`;
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  // It checks the types, too.
  execFileSync(process.execPath, [at("node_modules/typescript/bin/tsc"), "-p", at("."), "--noEmit", "false", "--declaration",
    "--emitDeclarationOnly", "--outDir", out], { stdio: "inherit" });
  for (const [name, { code, map }] of await shipped()) {
    writeFileSync(`${out}/${name}`, code);
    writeFileSync(`${out}/${name}.map`, map);
  }
  const { scripts, devDependencies, ...manifest } = JSON.parse(readFileSync(at("package.json"), "utf8"));
  writeFileSync(`${out}/package.json`, `${JSON.stringify({ ...manifest, version }, null, 2)}\n`);
  cpSync(at("README.md"), `${out}/README.md`);
  cpSync(at("../../LICENSE"), `${out}/LICENSE`);
  const packed = execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder, out], { encoding: "utf8" });
  console.log(`${folder}/${packed.trim()}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, version = "0.0.0"] = process.argv.slice(2);
  await build(resolve(folder), version);
}
