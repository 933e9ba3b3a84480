// The engine's side of the messages between a page and its worker. Objects live in this thread, the other side has
// their numbers. Calls on one object take turns, in the order in which they came; answers of several objects advance
// together.
import { Library, opening } from './engine/library.js';
import { Owner } from './engine/owner.js';
import { MAKES, OPENS } from './engine/root.js';
import { Tensor } from './engine/tensors.js';
import { LoomError } from './errors.js';

/**
 * Serves the calls of a port.
 * @param {{post(message: object, transfer?: Transferable[]): void, close?(): void}} port close() ends the worker
 * @param {object} platform see platform/node.js
 * @returns {(message: object) => void} takes a message
 */
export function serve(port, platform) {
  const server = new Server(port, platform);
  return (message) => server.take(message);
}

class Server {
  #objects = new Map();
  #next = 1;
  #turns = new Map(); // per object: the promise of its last call
  #running = new Map(); // per call: how it is asked to end
  #calls = new Set(); // promises of calls that run or wait
  #library;

  constructor(port, platform) {
    this.port = port;
    this.platform = platform;
  }

  take(message) {
    if (message.start !== undefined) {
      this.#library = this.platform.createCore(message.start).then((core) => new Library(core));
      this.options = message.start;
      this.#library.then(
        (library) => {
          const { kind, threads } = library.core;
          this.port.post({ started: { kind, threads }, shared: library.shared() });
        },
        (error) => this.port.post({ failed: LoomError.pack(error) }),
      );
    } else if (message.end !== undefined) {
      this.#close();
    } else if (message.abort !== undefined) {
      this.#end(message.abort, message.how);
    } else if (message.dispose !== undefined) {
      this.#dispose(message.dispose);
    } else if (message.call !== undefined) {
      this.#queue(message);
    }
  }

  #end(call, how) {
    const running = this.#running.get(call);
    if (running !== undefined) running.how = how;
  }

  /** Ends all calls, releases all objects and ends the worker. */
  async #close() {
    for (const running of this.#running.values()) running.how = 'abort';
    await Promise.allSettled([this.#library, ...this.#calls]);
    for (const object of this.#objects.values()) object.dispose();
    this.#objects.clear();
    const library = await this.#library?.catch(() => undefined);
    if (library?.cancel !== undefined) library.release(library.cancel);
    this.port.close?.();
  }

  #dispose(number) {
    const object = this.#objects.get(number);
    this.#objects.delete(number);
    for (const running of this.#running.values()) if (running.object === number) running.how = 'abort';
    const last = this.#turns.get(number) ?? Promise.resolve();
    last.finally(() => object?.dispose());
    this.#turns.delete(number);
  }

  #queue(message) {
    const state = { object: message.object, how: undefined };
    this.#running.set(message.call, state);
    const before = this.#turns.get(message.object);
    const run = () => this.#run(message, state);
    const turn = (before === undefined || message.object === 0 ? run() : before.then(run)).finally(() => {
      this.#running.delete(message.call);
      this.#calls.delete(turn);
    });
    this.#calls.add(turn);
    if (message.object !== 0) this.#turns.set(message.object, turn);
  }

  async #run(message, state) {
    try {
      const library = await this.#library;
      if (state.how === 'abort') throw cancelled();
      const value = await this.#value(library, message, state);
      if (state.how === 'abort') {
        if (value instanceof Owner) value.dispose();
        throw cancelled();
      }
      const transfer = [];
      const packed = this.#pack(value, transfer);
      this.port.post({ reply: message.call, value: packed }, transfer);
    } catch (error) {
      this.port.post({ reply: message.call, error: LoomError.pack(error) });
    }
  }

  async #value(library, message, state) {
    const { object, method, flag } = message;
    if (object === 0) {
      const args = message.args.map((arg) => this.#unpack(arg));
      if (method === 'engine.info') return { ...MAKES[method](library), objects: this.#objects.size };
      if (MAKES[method] !== undefined) return MAKES[method](library, ...args);
      const [described, ...rest] = args;
      const progress = (fraction) => {
        this.port.post({ progress: message.call, fraction });
        return state.how !== 'abort' && (flag === undefined || Atomics.load(flag, 0) === 0);
      };
      const ask = (part) => this.#read(message.call, part);
      if (method === 'storeModel') {
        const next = (fraction) => this.platform.nextTask().then(() => progress(fraction));
        return this.platform.storeModel(described, ...rest, this.options, ask, next);
      }
      const source = await this.platform.open(described, method, library.core, this.options, ask);
      try {
        return opening(source, () => OPENS[method](library, source, ...rest, progress));
      } finally {
        source.close?.();
      }
    }
    const owner = this.#object(object);
    // A call without steps runs to its end here, and only what both threads share can end it.
    library.isAborted = flag === undefined ? undefined : () => Atomics.load(flag, 0) === 1;
    const steps = owner[method](...message.args.map((arg) => this.#unpack(arg)));
    return typeof steps?.next === 'function' ? this.#advance(steps, message, state) : steps;
  }

  /** Runs an answer to its end; messages are read between its steps. */
  async #advance(steps, message, state) {
    let command;
    for (;;) {
      const { done, value } = steps.next(command);
      if (done) return value;
      if (message.streams && value.text !== undefined) this.port.post({ item: message.call, value });
      await this.platform.nextTask();
      if (state.how === 'abort') {
        steps.return();
        throw cancelled();
      }
      command = state.how;
    }
  }

  /** Asks the other side for bytes of a source and waits for them. */
  #read(call, { offset, length, shared }) {
    const state = new Int32Array(shared, 0, 2);
    Atomics.store(state, 0, 0);
    this.port.post({ read: call, offset, length });
    Atomics.wait(state, 0, 0);
    return Atomics.load(state, 1);
  }

  #object(number) {
    const object = this.#objects.get(number);
    if (object === undefined) throw new LoomError('Disposed', 'the object was disposed');
    return object;
  }

  #pack(value, transfer) {
    if (value instanceof Owner) {
      const number = this.#next++;
      this.#objects.set(number, value);
      return { $object: number, type: value.constructor.type };
    }
    if (value instanceof Tensor) return { $tensor: this.#pack(value.data, transfer), shape: value.shape };
    if (ArrayBuffer.isView(value)) {
      if (value.buffer instanceof ArrayBuffer) transfer.push(value.buffer);
      return value;
    }
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([key, each]) => [key, each instanceof Tensor ? this.#pack(each, transfer) : each]),
      );
    }
    return value;
  }

  #unpack(value) {
    if (value === null || typeof value !== 'object') return value;
    if (value.$object !== undefined) return this.#object(value.$object);
    if (Array.isArray(value)) return value[0]?.$object === undefined ? value : value.map((each) => this.#unpack(each));
    if (value.constructor !== Object) return value;
    for (const [key, each] of Object.entries(value))
      if (each?.$object !== undefined) value[key] = this.#object(each.$object);
    return value;
  }
}

function cancelled() {
  return new LoomError('Cancelled', 'the call was aborted');
}
