// The engine in the shared library of Loom, called through koffi (an optional dependency). Memory that the library
// reads and fills belongs to JavaScript: an ArrayBuffer never moves, and koffi gives its address.
import { LoomError } from '../errors.js';
import { ABI_VERSION, lp64 } from '../abi/loom_abi.js';
import { callbacks, functions } from '../abi/signatures.js';
import { LiveHandles } from './live_handles.js';

const TYPES = {
  v: 'void',
  i: 'int32_t',
  u: 'uint32_t',
  l: 'int64_t',
  U: 'uint64_t',
  z: 'size_t',
  f: 'float',
  d: 'double',
  p: 'uintptr_t',
};
const ARRAYS = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array,
};

/**
 * Opens the shared library.
 * @param {{library: string, koffi?: object}} options path of libloom; koffi: the module, where it is at hand
 */
export async function createNativeCore({ library, koffi }) {
  // Bundlers of servers leave the import alone: the package may be absent, and it holds machine code.
  const module = koffi ?? (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ 'koffi')).default;
  return new NativeCore(module, library);
}

export class NativeCore {
  kind = 'native';
  layouts = lp64;
  threads = 256;
  live = new LiveHandles();
  #koffi;
  #library;
  #functions = new Map();
  #blocks = new Map();
  #prototypes = new Map();

  constructor(koffi, path) {
    this.#koffi = koffi;
    try {
      this.#library = koffi.load(path);
      pin(koffi, path);
    } catch (error) {
      throw new LoomError('NotFound', `${path}: the shared library cannot be opened`, { cause: error });
    }
    const version = this.call('loom_library_abi_version');
    if (version !== ABI_VERSION) {
      throw new LoomError(
        'Unsupported',
        `${path} has version ${version} of the C interface, this package needs ${ABI_VERSION}: ` +
          'install the package and its library from one release',
      );
    }
  }

  /** Calls a function of loom.h; returns its result. */
  call(name, ...args) {
    let entry = this.#functions.get(name);
    if (entry === undefined) {
      const [result, parameters] = functions[name.slice(5)].split(':');
      const called = this.#library.func(
        name,
        TYPES[result],
        [...parameters].map((code) => TYPES[code]),
      );
      entry = result === 'p' ? (...given) => BigInt(called(...given)) : called;
      this.#functions.set(name, entry);
    }
    return entry(...args);
  }

  /** Calls `body` with the path of a file of its own, which begins with `bytes`; returns what the file then has. */
  throughFile(body, bytes) {
    const [fs, os, { join }] = ['node:fs', 'node:os', 'node:path'].map((name) => process.getBuiltinModule(name));
    const folder = fs.mkdtempSync(join(os.tmpdir(), 'welvet-'));
    try {
      const path = join(folder, 'file.json');
      if (bytes !== undefined) fs.writeFileSync(path, bytes);
      body(path);
      return new Uint8Array(fs.readFileSync(path));
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Where another thread can set a cancel: by its handle, which the whole process knows. */
  cancelPlace(handle) {
    return { handle };
  }

  alloc(bytes) {
    const block = new ArrayBuffer(Math.max(8, bytes));
    const pointer = this.addressOf(new Uint8Array(block));
    this.#blocks.set(pointer, block);
    return pointer;
  }

  free(pointer) {
    this.#blocks.delete(pointer);
  }

  /** Address of the memory of a typed array, which the caller keeps alive while the library uses it. */
  addressOf(array) {
    return array.byteLength === 0 ? 0n : BigInt(this.#koffi.address(array));
  }

  /** A typed array on memory of the library or of alloc(), valid until the next call. */
  view(type, pointer, count) {
    const kind = ARRAYS[type];
    if (count === 0) return new kind(0);
    const block = this.#blocks.get(pointer);
    return new kind(block ?? this.#koffi.view(pointer, count * kind.BYTES_PER_ELEMENT), 0, count);
  }

  /** Text that ends with a zero byte. */
  text(pointer) {
    return pointer ? this.#koffi.decode(pointer, 'char', -1) : '';
  }

  /**
   * Makes a function that C can call on this thread, of a callback type of loom.h, as "read_at".
   * @param {string} type
   * @param {(...args: unknown[]) => unknown} call takes the arguments after `user`
   */
  callback(type, call) {
    const [result, parameters] = callbacks[type].split(':');
    let prototype = this.#prototypes.get(type);
    if (prototype === undefined) {
      prototype = this.#koffi.pointer(
        this.#koffi.proto(
          TYPES[result],
          [...parameters].map((code) => TYPES[code]),
        ),
      );
      this.#prototypes.set(type, prototype);
    }
    // koffi gives small 64-bit numbers as numbers; pointers and offsets are BigInt in every core.
    const widen = [...parameters].slice(1).map((code) => ('pUl'.includes(code) ? BigInt : Number));
    const registered = this.#koffi.register(
      (user, ...args) => call(...args.map((value, i) => widen[i](value))),
      prototype,
    );
    const pointer = BigInt(this.#koffi.address(registered));
    return { pointer, user: 0n, free: () => this.#koffi.unregister(registered) };
  }

  close() {
    this.#functions.clear();
    this.#library = undefined;
  }
}

/**
 * Keeps the library in the process: koffi unloads it when a worker of Node ends, and threads of the library that still
 * run would then crash the process.
 */
function pin(koffi, path) {
  const flags = { linux: 0x1002, darwin: 0x82, freebsd: 0x1002 }[globalThis.process?.platform];
  if (flags !== undefined) return void koffi.load(null).func('dlopen', 'uintptr_t', ['str', 'int'])(path, flags);
  if (globalThis.process?.platform === 'win32') {
    const load = koffi.load('kernel32.dll').func('GetModuleHandleExW', 'int', ['uint32_t', 'str16', 'void *']);
    load(1, path, new BigUint64Array(1)); // GET_MODULE_HANDLE_EX_FLAG_PIN
  }
}
