// node build.mjs PACKAGE OUT: one HTML file without a server, of the page and the npm package in the
// folder PACKAGE.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [from, out] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const own = (file) => readFileSync(join(here, file), "utf8");

// A text as a literal that does not end the script element.
const literal = (text) => JSON.stringify(text).replace(/</g, "\\u003c");
const library = readFileSync(join(from, "index.mjs"), "utf8");
const glue = readFileSync(join(from, "ondine-wasm.mjs"), "utf8");
const wasm = readFileSync(join(from, "ondine-wasm.wasm")).toString("base64");
const place = 'import("./ondine-wasm.mjs")';
if (!library.includes(place)) throw new Error("the package imports its module in another way");

const program = `
const address = (text) => URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
const glue = address(${literal(glue)});
const library = address(${literal(library)}.replace('${place}', \`import("\${glue}")\`));
const { ready, ...ondine } = await import(library);
await ready({ wasmBinary: Uint8Array.from(atob(${literal(wasm)}), (one) => one.charCodeAt(0)) });
`;
const pictures = own("pictures.mjs").replace(/^export /gm, "");
const page = own("page.mjs")
  .replace(/^import .* from "\.\/pictures\.mjs";$/m, () => pictures)
  .replace(
    /^import \{([^}]*)\} from "ondine";$/m,
    (_, names) => `${program}const {${names}} = ondine;`,
  );
// Functions, as a text could hold what replace() takes for a pattern.
writeFileSync(
  out,
  own("page.html")
    .replace("/* style.css */", () => own("style.css"))
    .replace("/* page.mjs */", () => `\n${page}`),
);
