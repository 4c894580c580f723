// Builds codemirror.js and LICENSES.txt from the versions in package-lock.json:
//     npm ci --ignore-scripts && node build.mjs [folder]
// The same versions give the same bytes; tests/browser/test_vendor.py compares them with what is checked in.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const here = import.meta.dirname;
const out = process.argv[2] ?? here;
const { metafile } = await build({
  absWorkingDir: here, entryPoints: ["entry.mjs"], outfile: join(out, "codemirror.js"), bundle: true, minify: true,
  format: "esm", target: "es2022", charset: "utf8", legalComments: "none", metafile: true, logLevel: "warning",
  banner: { js: "/* CodeMirror 6 and what it needs, MIT: see LICENSES.txt; built by build.mjs, not to be edited. */" },
});
// What is in the file, by the bundler's own account, and under which licence.
const inputs = Object.keys(metafile.inputs).filter(path => path.startsWith("node_modules/"));
const packages = [...new Set(inputs.map(path => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)[1]))].sort();
const told = await Promise.all(packages.map(async name => {
  const { version, license } = JSON.parse(await readFile(join(here, "node_modules", name, "package.json"), "utf8"));
  const text = (await readFile(join(here, "node_modules", name, "LICENSE"), "utf8")).trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
}));
await writeFile(join(out, "LICENSES.txt"), told.join(`\n${"-".repeat(80)}\n\n`));
