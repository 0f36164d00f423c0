// Objects of the library: a handle, which free() ends.
import { invoke } from "./runtime.js";

const forgotten = new FinalizationRegistry(({ free, handle }) => {
  try {
    invoke(free, handle);
  } catch {
    // The module has stopped: there is nothing left to free.
  }
});

/** Its memory is given back by free(), by `using`, or some time after nothing refers to it. */
export class Owned {
  #free;
  /** A freed one stays the number that the library refuses. */
  handle;

  constructor(handle, free) {
    this.handle = handle;
    this.#free = free;
    forgotten.register(this, { free, handle }, this);
  }

  free() {
    forgotten.unregister(this);
    invoke(this.#free, this.handle);
  }
}
if (Symbol.dispose !== undefined) {
  Owned.prototype[Symbol.dispose] = function dispose() {
    this.free();
  };
}
