// Builds the page of picker view: web/src into picker_dynamics/scripting/view/page, with the licences of what is in it.
import { build } from "esbuild";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "picker_dynamics", "scripting", "view", "page");
const carried = ["three", "uplot"];

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: ["src/app.js", "src/worker.js", "src/style.css"],
  bundle: true,
  minify: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  chunkNames: "part-[hash]",
  outdir: out,
  logLevel: "warning",
});
cpSync(join(here, "src", "index.html"), join(out, "index.html"));
cpSync(join(here, "src", "icon.svg"), join(out, "icon.svg"));
const licences = carried.map((name) => {
  const { version } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8")}`;
});
writeFileSync(join(out, "licences.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
