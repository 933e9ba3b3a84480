// The engine as a page or a program sees it: a worker that answers calls.
import { Tensor } from './engine/tensors.js';
import { LoomError, mismatch } from './errors.js';

let platform;
let defaults = {};
let shared; // the engine of calls that name none
const types = new Map(); // classes of objects that calls return

/** Sets how workers are started and sources are opened here (platform/node.js, platform/browser.js). */
export function usePlatform(functions) {
  platform = functions;
}

export function getPlatform() {
  return platform;
}

/** Sets options of the engine that calls use by default; they cannot change while it runs. */
export function setDefaults(options, call) {
  const changed = Object.keys(options).filter((name) => options[name] !== defaults[name]);
  if (changed.length > 0 && shared !== undefined && !shared.isClosed) {
    const what = `${call} would change ${changed.join(', ')} of the shared engine, which runs already`;
    throw new LoomError('InvalidState', `${what}: call it before the other calls, or use createEngine()`);
  }
  const next = { ...defaults, ...options };
  checkEngineOptions(next, call);
  defaults = next;
  return defaults;
}

export function registerTypes(classes) {
  for (const [name, type] of Object.entries(classes)) types.set(name, type);
}

/**
 * The engine that calls use which name none; a lost one is replaced. One that starts for a device opens the graphics
 * card.
 */
export function defaultEngine(device) {
  if (shared === undefined || shared.isClosed) {
    shared = new Engine(
      platform.opensCards && device !== undefined && device !== 'cpu' ? { gpu: true, ...defaults } : defaults,
    );
  }
  return shared;
}

const isAddress = (value) => (typeof value === 'string' && value !== '') || value instanceof URL;
const isModule = (value) =>
  isAddress(value) ||
  value instanceof ArrayBuffer ||
  ArrayBuffer.isView(value) ||
  value instanceof WebAssembly.Module;

/** Options of an engine: what each must be, and whether a value is that. */
export const ENGINE_OPTIONS = {
  kind: ['auto, native or wasm', (value) => ['auto', 'native', 'wasm'].includes(value)],
  threads: ['a whole number from 1 to 256', (value) => Number.isInteger(value) && value >= 1 && value <= 256],
  module: ['an address, bytes or a compiled module', isModule],
  threadsModule: ['an address, bytes or a compiled module', isModule],
  library: ['a path', isAddress],
  worker: ['an address', isAddress],
  baseUrl: ['a folder or an address', isAddress],
  gpu: ['true or false', (value) => typeof value === 'boolean'],
};

/** Refuses options of an engine that do not exist, have another type, or that this engine would not read. */
export function checkEngineOptions(options, call) {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(ENGINE_OPTIONS, name)) {
      const names = Object.keys(ENGINE_OPTIONS).join(', ');
      throw new LoomError('UnknownKey', `${call} has no option ${JSON.stringify(name)}: expected ${names}`);
    }
    const [expected, isRight] = ENGINE_OPTIONS[name];
    if (value === undefined || isRight(value)) continue;
    if (name === 'threads' && typeof value === 'number')
      throw new LoomError('OutOfRange', `threads is ${value}: expected 1 to 256`);
    if (name === 'kind' && typeof value === 'string')
      throw new LoomError('InvalidArgument', `kind is ${JSON.stringify(value)}: expected auto, native, wasm`);
    throw mismatch(name, expected, value);
  }
  const { module, threadsModule, threads } = options;
  if (module !== undefined && threadsModule === undefined && threads > 1) {
    const why = 'module is for one thread: give threadsModule as well';
    throw new LoomError('InvalidArgument', `threads is ${threads}, and ${why}`);
  }
  platform.checkOptions(options);
}

/** An engine in a worker of its own. Objects of one engine share its memory; they end with it. */
export class Engine {
  #worker;
  #calls = new Map();
  #next = 1;
  #lost; // why it has ended
  #started;
  #shared = {}; // what both threads reach: a cancel, and handles of the native library (engine/library.js)
  kind; // "native" or "wasm", when the engine runs
  threads; // threads of a call
  #collected = new FinalizationRegistry((number) => this.#post({ dispose: number }));

  /** @param {object} [options] see index.d.ts */
  constructor(options = {}) {
    checkEngineOptions(options, 'createEngine()');
    this.options = { ...options };
    this.#worker = platform.spawn(
      this.options,
      (message) => this.#take(message),
      (why) => this.#end(why),
    );
    this.#started = new Promise((resolve, reject) => {
      this.begin = { resolve, reject };
    });
    this.#started.catch(() => {});
    this.#post({ start: platform.startOptions(this.options) });
  }

  get isClosed() {
    return this.#lost !== undefined;
  }

  /** Resolves to {kind, threads} when the engine runs. */
  get started() {
    return this.#started;
  }

  info() {
    return this.call(0, 'engine.info', []);
  }

  gpuReport() {
    return this.call(0, 'engine.gpuReport', []);
  }

  async verify(options) {
    const { signal, ...rest } = options ?? {};
    for (const [name, value] of Object.entries(rest))
      if (typeof value === 'function') throw new LoomError('UnknownKey', `verify() has no option "${name}"`);
    return this.call(0, 'engine.verify', [rest], { signal });
  }

  /** Ends the worker and every object in it. */
  dispose() {
    if (this.isClosed) return;
    const worker = this.#worker;
    this.#end(new LoomError('Disposed', 'the engine was disposed'));
    // Memory of the native library does not end with its thread: the worker releases its objects first.
    if (this.kind === 'wasm' || worker.end === undefined) worker.terminate();
    else worker.end();
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    this.dispose();
  }

  /** Calls a method of an object; 0 has the functions that make objects. */
  call(object, method, args, { signal, onItem, onProgress, onCall, reader } = {}) {
    if (this.isClosed) return Promise.reject(this.#lost);
    if (signal?.aborted) return Promise.reject(aborted(signal));
    const call = this.#next++;
    const message = { call, object, method, streams: onItem !== undefined };
    onCall?.(call);
    if (signal !== undefined && typeof SharedArrayBuffer !== 'undefined')
      message.flag = new Int32Array(new SharedArrayBuffer(4));
    return new Promise((resolve, reject) => {
      const pending = { resolve, reject, onItem, onProgress, reader, signal };
      if (signal !== undefined) {
        pending.listener = () => {
          if (message.flag !== undefined) Atomics.store(message.flag, 0, 1);
          platform.cancel(this.#shared.cancel, this.options);
          this.#post({ abort: call, how: 'abort' });
          pending.isAborted = true;
          pending.endRead?.();
          reject(aborted(signal));
        };
        signal.addEventListener('abort', pending.listener, { once: true });
      }
      pending.call = call;
      try {
        message.args = args.map((arg) => pack(arg, this));
        this.#calls.set(call, pending);
        this.#worker.ref?.();
        this.#worker.post(message, []);
      } catch (error) {
        this.#forget(call);
        reject(
          error instanceof LoomError
            ? error
            : new LoomError('InvalidArgument', `${method}: an argument cannot go to the engine: ${error.message}`, {
                cause: error,
              }),
        );
      }
    });
  }

  /** Ends a call with a partial result. */
  stop(call) {
    this.#post({ abort: call, how: 'stop' });
  }

  disposeObject(number) {
    if (!this.isClosed) this.#post({ dispose: number });
  }

  track(object, number) {
    this.#collected.register(object, number, object);
  }

  untrack(object) {
    this.#collected.unregister(object);
  }

  #post(message) {
    if (!this.isClosed) this.#worker.post(message, []);
  }

  #take(message) {
    if (message.started !== undefined) {
      Object.assign(this, message.started);
      this.#shared = message.shared;
      this.begin.resolve(message.started);
      this.#rest();
    } else if (message.failed !== undefined) {
      this.#end(LoomError.unpack(message.failed));
      this.#worker.terminate();
    } else if (message.read !== undefined) {
      this.#serveRead(message);
    } else if (message.item !== undefined) {
      this.#item(message);
    } else if (message.progress !== undefined) {
      this.#progress(message);
    } else if (message.reply !== undefined) {
      this.#reply(message);
    }
  }

  #item({ item, value }) {
    const pending = this.#calls.get(item);
    if (pending === undefined || pending.isAborted) return;
    try {
      pending.onItem?.(value);
    } catch (error) {
      this.#post({ abort: item, how: 'abort' });
      pending.isAborted = true;
      pending.reject(error);
    }
  }

  #progress({ progress, fraction }) {
    const pending = this.#calls.get(progress);
    if (pending !== undefined) pending.fraction = fraction;
    try {
      pending?.onProgress?.(fraction);
    } catch (error) {
      this.#post({ abort: progress, how: 'abort' });
      pending.isAborted = true;
      pending.reject(error);
    }
  }

  #reply({ reply, value, error }) {
    const pending = this.#calls.get(reply);
    if (error === undefined && pending?.fraction < 1 && !pending.isAborted)
      this.#progress({ progress: reply, fraction: 1 });
    this.#forget(reply);
    if (pending === undefined) return;
    if (error !== undefined) {
      const failure = pending.readError ?? LoomError.unpack(error);
      pending.reject(failure);
    } else if (pending.isAborted && value?.$object !== undefined) {
      this.disposeObject(value.$object);
    } else {
      pending.resolve(this.#unpack(value));
    }
  }

  async #serveRead({ read, offset, length }) {
    const pending = this.#calls.get(read);
    if (pending === undefined) return;
    const { shared, source } = pending.reader;
    const state = new Int32Array(shared, 0, 2);
    const end = (count) => {
      if (pending.endRead === undefined) return; // the call was aborted, and the worker no longer waits
      pending.endRead = undefined;
      Atomics.store(state, 1, count);
      Atomics.store(state, 0, 1);
      Atomics.notify(state, 0);
    };
    pending.endRead = () => end(-1);
    if (pending.isAborted) return end(-1);
    let count = -1;
    try {
      const bytes = await source.read(offset, length);
      if (!(bytes instanceof Uint8Array)) throw mismatch('the result of read()', 'a Uint8Array', bytes);
      count = Math.min(bytes.length, length);
      new Uint8Array(shared, 16).set(bytes.subarray(0, count));
    } catch (error) {
      pending.readError =
        error instanceof LoomError
          ? error
          : new LoomError('ReadFailed', `read(${offset}, ${length}) of the source failed: ${error?.message ?? error}`, {
              cause: error,
            });
    }
    end(count);
  }

  #unpack(value) {
    if (value === null || typeof value !== 'object') return value;
    if (value.$object !== undefined) return new (types.get(value.type))(this, value.$object);
    if (value.$tensor !== undefined) return new Tensor(value.$tensor, value.shape);
    if (value.constructor === Object) {
      for (const [key, each] of Object.entries(value)) if (each?.$tensor !== undefined) value[key] = this.#unpack(each);
    }
    return value;
  }

  #forget(call) {
    const pending = this.#calls.get(call);
    if (pending?.listener !== undefined) pending.signal.removeEventListener('abort', pending.listener);
    this.#calls.delete(call);
    this.#rest();
  }

  /** A worker without calls does not keep a program running. */
  #rest() {
    if (this.#calls.size === 0 && this.kind !== undefined) this.#worker.unref?.();
  }

  #end(why) {
    if (this.isClosed) return;
    this.#lost = why;
    this.begin.reject(why);
    if (why.code === 'EngineLost') platform.releaseLost(this.#shared.live, this.options);
    for (const [call, pending] of [...this.#calls]) {
      pending.endRead?.();
      this.#forget(call);
      pending.reject(why);
    }
  }
}

function aborted(signal) {
  return new LoomError('Cancelled', 'the call was aborted', { cause: signal.reason });
}

/** Objects of an engine become their numbers; no other value may look like one. */
function pack(value, engine) {
  if (value === null || typeof value !== 'object') return value;
  if (Object.hasOwn(Object(Array.isArray(value) ? value[0] : value), '$object'))
    throw new LoomError('UnknownKey', 'an argument has the key "$object", which names objects of the engine');
  if (value instanceof Remote) {
    if (value.engine !== engine)
      throw new LoomError('InvalidArgument', `the ${value.constructor.name} lives in another engine`);
    return value.reference();
  }
  if (Array.isArray(value)) return value[0] instanceof Remote ? value.map((each) => pack(each, engine)) : value;
  if (value.constructor !== Object) return value instanceof Tensor ? { data: value.data, shape: value.shape } : value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      each instanceof Remote || each instanceof Tensor ? pack(each, engine) : each,
    ]),
  );
}

/** Base of objects that live in an engine. */
export class Remote {
  #engine;
  #number;

  constructor(engine, number) {
    if (!(engine instanceof Engine))
      throw new LoomError(
        'InvalidArgument',
        'objects of an engine are made by calls, not by new: LM.load(), lm.chat(), Network.fromSpec(), Trainer.create() ...',
      );
    this.#engine = engine;
    this.#number = number;
    engine.track(this, number);
  }

  /** The engine that the object lives in. */
  get engine() {
    return this.#engine;
  }

  get isDisposed() {
    return this.#number === 0;
  }

  reference() {
    if (this.#number === 0) throw new LoomError('Disposed', `the ${this.constructor.name} was disposed`);
    return { $object: this.#number };
  }

  /** Calls a method in the engine; the last argument's keys signal and onProgress stay on this side. */
  invoke(method, args = [], more = {}) {
    if (this.#number === 0)
      return Promise.reject(new LoomError('Disposed', `the object was disposed, and ${method}() was called`));
    return this.#engine.call(this.#number, method, args, more);
  }

  /** Releases the object: calls that run or wait are aborted. */
  async dispose() {
    if (this.#number === 0) return;
    this.#engine.untrack(this);
    this.#engine.disposeObject(this.#number);
    this.#number = 0;
  }

  [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    return this.dispose();
  }
}
