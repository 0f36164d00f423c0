// Errors of the library, and of what this package refuses before the library sees it.

const NUMBERS = { mismatch: 3, io: 5, limit: 6, internal: 8, invalid_option: 12 };

/** An error of the library. `message`: the reason, then a line for each object that encloses it. */
export class OndineError extends Error {
  constructor(message, { code, number, reason = message, context = [], cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "OndineError";
    this.code = code;
    this.number = number ?? NUMBERS[code];
    this.reason = reason;
    this.context = context;
  }
}

export function refuse(code, message, cause) {
  return new OndineError(message, { code, cause });
}
