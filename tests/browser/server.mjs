// Files of folders, by HTTP on this machine: with the headers that let a page share memory, or not.
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
};
const ISOLATED = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

function answer(folders, headers, request, response) {
  const path = normalize(decodeURIComponent(new URL(request.url, "http://local").pathname));
  if (path === "/") {
    response.writeHead(200, { ...headers, "Content-Type": "text/html" });
    response.end("<!doctype html><title>Ondine</title>");
    return;
  }
  const file = folders
    .map((folder) => join(folder, path))
    .find((one) => statSync(one, { throwIfNoEntry: false })?.isFile());
  if (file === undefined) {
    response.writeHead(404).end();
    return;
  }
  const type = TYPES[extname(file)] ?? "application/octet-stream";
  response.writeHead(200, { ...headers, "Content-Type": type });
  createReadStream(file).pipe(response);
}

/** The first folder that has a file gives it; "/" is an empty page. */
export async function serve(folders, { isolated }) {
  const headers = isolated ? ISOLATED : {};
  const server = createServer((request, response) => answer(folders, headers, request, response));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => server.close(),
  };
}
