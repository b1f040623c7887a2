// Bundles the page's script and style into the Python package. The built files begin with a digest
// of their sources, so that a test can check without Node whether they are up to date.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "python", "afflux", "report", "built");

// The words belong to the package, which also uses them in its own texts.
const sources = ["../python/afflux/words/words.json", "build.mjs", "package-lock.json", "package.json", "tsconfig.json", ...readdirSync(join(here, "src")).map((name) => `src/${name}`)].sort();
const digest = createHash("sha256");
for (const name of sources) digest.update(`${name}\0`).update(readFileSync(join(here, name))).update("\0");

const banner = `/*! made from report/ of afflux, sources ${digest.digest("hex")} */`;

// Words that only the Python package uses are left out of the script.
const PYTHON = ["row", "check", "note", "term", "asked", "demo", "published", "differs", "first", "measure", "measures", "compare", "told", "change", "ends", "study", "hadoop", "conweave", "pfabric", "longfat", "mptcp", "standard", "decision", "verdict", "versions", "what"];
const written = readdirSync(join(here, "src")).filter((name) => name.endsWith(".ts")).map((name) => readFileSync(join(here, "src", name), "utf8")).join("");
for (const kind of PYTHON) if (new RegExp(`["\`]${kind}\\.`).test(written)) throw new Error(`the script says words of ${kind}: take it from the list in build.mjs`);
const words = {
  name: "words",
  setup: (of) =>
    of.onLoad({ filter: /words\.json$/ }, ({ path }) => {
      const every = Object.entries(JSON.parse(readFileSync(path, "utf8")));
      return { contents: JSON.stringify(Object.fromEntries(every.filter(([key]) => !PYTHON.includes(key.split(".")[0])))), loader: "json" };
    }),
};

await build({
  absWorkingDir: here,
  entryPoints: { report: "src/main.ts", style: "src/style.css" },
  outdir: out,
  bundle: true,
  plugins: [words],
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  banner: { js: banner, css: banner },
});
