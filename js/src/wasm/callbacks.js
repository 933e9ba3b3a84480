// Callbacks of loom.h that end in JavaScript. Each type has one function in the module (src/capi/js.cpp), which calls an
// import with `user`: the number of the JavaScript function.

/** Types in the order of the module's table. */
export const CALLBACKS = [
  'on_progress', 'on_training', 'on_shards', 'on_generation', 'on_layer', 'on_window', 'on_judging', 'read_at', 'on_log',
  'layer_rule', 'on_fatal',
];
const FAILED = { read_at: -1n, layer_rule: 26 }; // answers for a function that threw; others stop with 0

export class Callbacks {
  #functions = new Map(); // by number
  #next = 1;
  #thrown = null;

  /**
   * The imports "loom_js".
   * @param {() => WebAssembly.Memory} memory
   * @param {(bytes: number) => Error} outOfMemory makes the error that ends a call
   */
  constructor(memory, outOfMemory) {
    this.imports = {
      event: (user, event) => this.#event(user, event >>> 0, memory),
      progress: (user, fraction) => Number(this.#run(user, fraction)),
      read_at: (user, offset, to, size) => BigInt(this.#run(user, BigInt.asUintN(64, offset), to >>> 0, size >>> 0)),
      log: (user, level, text) => void this.#run(user, level, text >>> 0),
      fatal: (user, text) => void this.#run(user, text >>> 0),
      out_of_memory: (bytes) => {
        throw outOfMemory(bytes >>> 0);
      },
    };
  }

  /** Makes a callback; `table` is where the module keeps its functions. */
  add(type, call, table) {
    const name = type.replace(/^loom_/, '');
    const which = CALLBACKS.indexOf(name);
    if (which < 0) throw new TypeError(`there is no callback ${type}; known: ${CALLBACKS.join(', ')}`);
    const user = this.#next++;
    this.#functions.set(user, { name, call });
    return { pointer: table[which], user, free: () => void this.#functions.delete(user) };
  }

  /** Gives what a callback threw since the last time, once; undefined for nothing. */
  thrown() {
    const error = this.#thrown;
    this.#thrown = null;
    return error === null ? undefined : error;
  }

  #event(user, event, memory) {
    const known = this.#functions.get(user);
    const given = known?.name === 'layer_rule' ? new DataView(memory().buffer).getBigUint64(event, true) : event;
    return Number(this.#run(user, given));
  }

  // An exception must not pass through the module, whose functions would not finish: the call fails, then it is thrown.
  #run(user, ...args) {
    const known = this.#functions.get(user);
    if (!known) return 0;
    try {
      return known.call(...args) ?? 0;
    } catch (error) {
      this.#thrown ??= error;
      return FAILED[known.name] ?? 0;
    }
  }
}
