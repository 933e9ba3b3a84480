// The engine in WebAssembly: a Core, the synchronous object that the classes of the package are written over. It lives in
// the thread that calls it.
import { LoomError } from '../errors.js';
import { wasm32 } from '../abi/loom_abi.js';
import { GpuImports } from '../abi/loom_gpu.js';
import { Callbacks, CALLBACKS } from './callbacks.js';
import { canShareMemory, compile, takesMemory } from './module.js';
import { Files, systemImports } from './system.js';
import { startThreads } from './threads.js';

const FIRST_PAGES = 128, MOST_PAGES = 65536; // of 64 KiB; as loom-threads.wasm is linked (cmake/LoomWasm.cmake)
const ARRAYS = {
  u8: Uint8Array, i8: Int8Array, u16: Uint16Array, i16: Int16Array, u32: Uint32Array, i32: Int32Array, u64: BigUint64Array,
  i64: BigInt64Array, f32: Float32Array, f64: Float64Array,
};
// Imports "loom_gpu" of a module without a device.
function withoutGpu(memory) {
  const text = new TextEncoder().encode('no graphics card was given to the engine (option gpu)');
  const none = () => 0;
  return {
    message_size: () => text.length,
    message: (to) => new Uint8Array(memory().buffer, to >>> 0, text.length).set(text),
    open: none, close: none, limit: none, create_buffer: none, destroy_buffer: none, write: none, create_pipeline: none,
    create_group: none, destroy_group: none, submit: none, begin_read: none, poll: () => 2, check: none, is_lost: () => 1,
  };
}

/**
 * Starts the engine.
 * @param {object} options
 * @param {URL | string | ArrayBuffer | ArrayBufferView | WebAssembly.Module} options.module loom.wasm, or loom-threads.wasm for
 *   more than one thread
 * @param {number} [options.threads] threads that share the work, the caller's among them; 1 where memory cannot be shared
 * @param {{opened: object, post: (calls: object[], transfer: ArrayBuffer[]) => void}} [options.gpu] a device in another thread:
 *   what GpuHost.opened says (abi/loom_gpu.js), and what sends calls to its run(); without it there is none
 * @param {(text: string) => void} [options.print] takes what the engine prints
 */
export async function createWasmCore({ module: from, threads = 1, gpu, print }) {
  const module = await compile(from);
  const shares = takesMemory(module);
  if (shares && !canShareMemory()) {
    throw new LoomError('Unsupported', 'loom-threads.wasm needs shared memory: this page is not cross-origin isolated; use loom.wasm');
  }
  const core = new WasmCore(shares, gpu, print);
  await core.start(module, shares ? threads : 1);
  return core;
}

export class WasmCore {
  kind = 'wasm';
  layouts = wasm32;
  threads = 1;
  files = new Files();
  #exports;
  #memory;
  #callbacks;
  #table;
  #imports;
  #lost = null;
  #endThreads = () => {};

  constructor(shares, gpu, print) {
    const memory = () => this.#memory;
    if (shares) this.#memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: MOST_PAGES, shared: true });
    this.#callbacks = new Callbacks(memory, (bytes) => this.#outOfMemory(bytes));
    this.#imports = {
      wasi_snapshot_preview1: systemImports(memory, { files: this.files, print }),
      loom_js: this.#callbacks.imports,
      loom_gpu: gpu ? new GpuImports(gpu.opened, gpu.post, memory).imports : withoutGpu(memory),
      env: { memory: this.#memory },
    };
  }

  async start(module, threads) {
    const { exports } = await WebAssembly.instantiate(module, this.#imports);
    this.#exports = exports;
    this.#memory ??= exports.memory;
    exports._initialize();
    this.#table = [...new Uint32Array(this.#memory.buffer, exports.loom_js_callbacks() >>> 0, CALLBACKS.length)];
    if (threads > 1) this.#endThreads = await startThreads(module, this.#memory, exports, threads - 1);
    this.threads = threads;
  }

  /** Bytes of memory that the engine has taken. */
  get memoryBytes() {
    return this.#memory.buffer.byteLength;
  }

  /** Calls a function of loom.h: numbers, BigInt for 64 bits; returns its result. Throws what a callback threw. */
  call(name, ...args) {
    const called = this.#exports[name];
    if (called === undefined) {
      const module = 'loom-lm.wasm has language models, tokenizers and encoders alone; loom.wasm has all';
      throw new LoomError('NotFound', `there is no function ${name} in the module (${module})`);
    }
    if (this.#lost !== null) throw this.#lost;
    let result;
    try {
      result = called(...args);
    } catch (error) {
      throw this.#lose(name, error);
    }
    const thrown = this.#callbacks.thrown();
    if (thrown !== undefined) throw thrown;
    return result;
  }

  /** Calls `body` with the path of a file of its own, which begins with `bytes`; returns what the file then has. */
  throughFile(body, bytes) {
    const path = '/through/file.json';
    try {
      this.files.add(path, bytes ?? new Uint8Array(0));
      if (bytes === undefined) this.files.remove(path);
      body(path);
      return this.files.bytes(path);
    } finally {
      this.files.remove(path);
    }
  }

  /** Where another thread can set a cancel: a byte of shared memory; undefined where memory is not shared. */
  cancelPlace(handle) {
    const memory = this.#memory.buffer;
    if (memory instanceof ArrayBuffer) return undefined;
    return { memory, byte: this.call('loom_js_cancel_flag', handle) >>> 0 };
  }

  alloc(bytes) {
    const pointer = this.call('loom_js_alloc', bytes) >>> 0;
    if (pointer === 0) throw new LoomError('OutOfMemory', `out of memory: ${bytes} bytes were asked for, ${this.memoryBytes} are in use`);
    return pointer;
  }

  free(pointer) {
    if (this.#lost === null) this.#exports.loom_js_free(pointer);
  }

  /** A typed array on the memory, valid until the next call. `type`: u8, i32, f32, ... */
  view(type, pointer, count) {
    return new ARRAYS[type](this.#memory.buffer, pointer >>> 0, count);
  }

  write(pointer, bytes) {
    this.view('u8', pointer, bytes.length).set(bytes);
  }

  /** A copy of bytes. */
  read(pointer, length) {
    return this.view('u8', pointer, length).slice();
  }

  /** A text as UTF-8 with a zero after it, until free(). */
  string(text) {
    const bytes = new TextEncoder().encode(text);
    const pointer = this.alloc(bytes.length + 1);
    const to = this.view('u8', pointer, bytes.length + 1);
    to.set(bytes);
    to[bytes.length] = 0;
    return { pointer, length: bytes.length, free: () => this.free(pointer) };
  }

  /** The text of a zero-terminated string; "" for null. */
  text(pointer) {
    const begin = pointer >>> 0;
    if (begin === 0) return '';
    const all = new Uint8Array(this.#memory.buffer);
    return new TextDecoder().decode(all.slice(begin, all.indexOf(0, begin)));
  }

  /** A struct of loom.h with its fields, zeros for the others; the caller frees it. */
  struct(name, fields = {}) {
    const { size, fields: known } = wasm32[name.replace(/^loom_/, '')];
    const pointer = this.alloc(size);
    this.view('u8', pointer, size).fill(0);
    for (const [key, value] of Object.entries({ struct_size: size, ...fields })) {
      if (known[key] === undefined) throw new TypeError(`${name} has no field ${key}`);
      this.#setField(pointer + known[key].offset, known[key].kind, value);
    }
    return pointer;
  }

  /** The fields of a struct as an object: numbers, BigInt for 64 bits. */
  fields(name, pointer) {
    const { fields } = wasm32[name.replace(/^loom_/, '')];
    const get = ([key, { offset, kind }]) => [key, this.view(arrayOf(kind), pointer + offset, 1)[0]];
    return Object.fromEntries(Object.entries(fields).map(get));
  }

  #setField(place, kind, value) {
    const type = arrayOf(kind);
    this.view(type, place, 1)[0] = type === 'u64' || type === 'i64' ? BigInt(value) : Number(value);
  }

  /** A function as a callback of loom.h, without its argument `user`: {pointer, user, free()}. */
  callback(type, call) {
    return this.#callbacks.add(type, call, this.#table);
  }

  /** Ends the workers. Nothing may be called after it. */
  close() {
    if (this.#lost === null) this.#endThreads();
    this.#lost ??= new LoomError('Disposed', 'the engine was closed');
  }

  #outOfMemory(bytes) {
    return new LoomError('OutOfMemory', `out of memory: ${bytes} bytes were asked for, ${this.memoryBytes} are in use; start the engine again`);
  }

  // A call that did not finish leaves the engine half-way: every later call gets the error.
  #lose(name, error) {
    this.#endThreads = () => {};
    this.#lost = error instanceof LoomError ? error
      : new LoomError('EngineLost', `${name}: the engine stopped: ${error.message}; start it again`, { cause: error });
    return this.#lost;
  }
}

const arrayOf = (kind) => (kind === 'pointer' || kind === 'size' ? 'u32' : kind);
