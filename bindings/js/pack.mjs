// node pack.mjs SOURCE MODULE LICENSES OUT VERSION
// Lays out the npm package in OUT: one file of the sources in src/ as ES module and as CommonJS, the
// module of WebAssembly in MODULE, the types with the options of the library's table, and terms.
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [source, module, licenses, out, version] = process.argv.slice(2);
const here = join(source, "bindings/js");
const text = (file) => readFileSync(join(here, file), "utf8");

// In an order in which every file comes after those that it imports.
const FILES = [
  "errors",
  "runtime",
  "handles",
  "options",
  "tensor",
  "values",
  "files",
  "model",
  "training",
  "index",
];
// Files stay apart: each is a block of its own that hands its exports to the next ones.
function joined() {
  let body = "";
  for (const file of FILES) {
    const content = text(`src/${file}.js`);
    const imports = [...content.matchAll(/^import \{([^}]*)\} from "\.\/(\w+)\.js";\n/gm)];
    const inner = content
      .replace(/^import \{[^}]*\} from "\.\/\w+\.js";\n/gm, "")
      .replace(/^export \{([^}]*)\};\n?/m, "")
      .replace(/^export (?=(async )?(function|class|const))/gm, "");
    const exported = [
      ...[...content.matchAll(/^export (?:async )?(?:function\*?|class|const) (\w+)/gm)].map(
        (match) => match[1],
      ),
      ...(content
        .match(/^export \{([^}]*)\};/m)?.[1]
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "") ?? []),
    ].sort();
    const taken = imports.map(([, names, from]) => `const {${names}} = ${from}Part;\n`).join("");
    body += `\n// ${file}.js\nconst ${file}Part = (() => {\n${taken}${inner}return { ${exported.join(", ")} };\n})();\n`;
    if (file === "index") return { body, names: exported };
  }
  throw new Error("there is no index");
}

function optionLine(option) {
  const name = option.name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
  const words = [...(option.choices ?? []), ...Object.keys(option.synonyms ?? {})];
  const one = words.map((word) => JSON.stringify(word)).join(" | ") || "OptionValue";
  const type = option.repeats || option.several ? `${one} | readonly (${one})[]` : one;
  const tail = option.default === undefined ? "" : ` Default: ${option.default}.`;
  return `  /** ${`${option.help}.${tail}`.replace(/\*\//g, "* /")} */\n  ${name}?: ${type} | null;\n`;
}

async function optionTypes(path) {
  const { options, ready } = await import(pathToFileURL(path));
  await ready();
  const groups = ["load", "prepare", "data", "train", "evaluate", "network"];
  return groups
    .map((group) => {
      const name = group[0].toUpperCase() + group.slice(1);
      return (
        `/** The options of the group ${group}. */\nexport interface ${name}Options {\n` +
        `${options(group).map(optionLine).join("")}}\n`
      );
    })
    .join("\n");
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const { body, names } = joined();
const head = "// Written from bindings/js/src by pack.mjs.\n";
writeFileSync(
  join(out, "index.mjs"),
  `${head}${body}\nexport const { ${names.join(", ")} } = indexPart;\n`,
);
writeFileSync(
  join(out, "index.cjs"),
  `${head}"use strict";\n${body}\n` +
    `${names.map((name) => `exports.${name} = indexPart.${name};\n`).join("")}`,
);
for (const name of ["ondine-wasm", "ondine-wasm-threads"]) {
  for (const file of [`${name}.mjs`, `${name}.wasm`])
    copyFileSync(join(module, file), join(out, file));
}
copyFileSync(join(here, "README.md"), join(out, "README.md"));
for (const file of ["LICENSE", "NOTICE"]) copyFileSync(join(source, file), join(out, file));
cpSync(licenses, join(out, "licenses"), { recursive: true });
const description = JSON.parse(text("package.json"));
writeFileSync(
  join(out, "package.json"),
  `${JSON.stringify({ ...description, version }, null, 2)}\n`,
);
const types = `${text("index.d.ts")}\n${await optionTypes(join(out, "index.mjs"))}`;
writeFileSync(join(out, "index.d.ts"), types);
writeFileSync(join(out, "index.d.cts"), types);
