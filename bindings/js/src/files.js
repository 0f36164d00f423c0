// Files in the memory of the module: the library reads and writes some things only as files.
import { refuse } from "./errors.js";
import { files, scoped } from "./runtime.js";
import { bytesOf } from "./tensor.js";

let last = 0;

/** `work` with the name of a file that is there only meanwhile; `bytes` are its content. */
export function temporary(work, bytes) {
  const path = `/ondine/${++last}`;
  if (bytes !== undefined) files().writeFile(path, bytes);
  try {
    return scoped((scope) => work(path, scope));
  } finally {
    for (const name of files().readdir("/ondine")) {
      if (name === String(last) || name.startsWith(`${last}.`)) files().unlink(`/ondine/${name}`);
    }
  }
}

export function stored(path) {
  return files().readFile(path);
}

function reached(path, work) {
  if (typeof path !== "string")
    throw refuse("mismatch", `a path is a ${typeof path}, not a string`);
  try {
    return work(files());
  } catch (error) {
    if (error?.name !== "ErrnoError") throw error;
    throw refuse(
      "io",
      `cannot reach '${path}' in the memory of the module (errno ${error.errno})`,
      error,
    );
  }
}

/** Writes a file that Dataset.open() and others can name; its folders are made. */
export function writeFile(path, bytes) {
  const content = typeof bytes === "string" ? bytes : bytesOf(bytes, `the content of '${path}'`);
  reached(path, (all) => {
    const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    if (folder !== "") all.mkdirTree(folder);
    all.writeFile(path, content);
  });
}

export function readFile(path) {
  return reached(path, (all) => all.readFile(path));
}

export function removeFile(path) {
  reached(path, (all) => all.unlink(path));
}
