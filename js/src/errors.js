// Errors of the package: one class, with the code of the C interface or one of the package's own.

/** Codes that are not of the C interface. */
export const OWN_CODES = ['Cancelled', 'Disposed', 'EngineLost', 'NotLoaded', 'ReadFailed', 'TypeMismatch'];

/** Error of a call: `code` says which kind it is, as "NotFound" or "InvalidArgument". */
export class LoomError extends Error {
  /**
   * @param {string} code name of a loom_status, or one of OWN_CODES
   * @param {string} message one line: what came, what was expected
   * @param {{cause?: unknown, status?: number}} [more]
   */
  constructor(code, message, more = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = code === 'Cancelled' ? 'AbortError' : 'LoomError';
    this.code = code;
    this.status = more.status ?? 0;
  }

  /** Plain form for postMessage(). */
  static pack(error) {
    if (error instanceof LoomError) {
      const cause = error.cause === undefined ? undefined : String(error.cause?.message ?? error.cause);
      return { code: error.code, message: error.message, status: error.status, cause };
    }
    if (error instanceof WebAssembly.RuntimeError)
      return { code: 'EngineLost', message: `the engine failed: ${error.message}` };
    return { code: 'TypeMismatch', message: String(error?.message ?? error) };
  }

  static unpack({ code, message, status, cause }) {
    return new LoomError(code, message, { status, cause });
  }
}

/** Refuses an option that an engine of this kind would not read. */
export function refuseOption(name, why) {
  throw new LoomError('InvalidArgument', `the option ${name} would not be read: ${why}`);
}

/** Error of an argument that has another type. */
export function mismatch(what, expected, value) {
  return new LoomError('TypeMismatch', `${what} must be ${expected}, not ${described(value)}`);
}

function described(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return value.constructor?.name ?? 'an object';
  return typeof value === 'string' || typeof value === 'number'
    ? `the ${typeof value} ${JSON.stringify(value)}`
    : typeof value;
}
