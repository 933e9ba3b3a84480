// Calls of the C interface over a Core: memory of a call, errors, handles, blobs.
import { LoomError } from '../errors.js';

const encoder = new TextEncoder();
const ARRAYS = new Map([
  [Uint8Array, 'u8'],
  [Int8Array, 'i8'],
  [Uint16Array, 'u16'],
  [Int16Array, 'i16'],
  [Int32Array, 'i32'],
  [Uint32Array, 'u32'],
  [BigInt64Array, 'i64'],
  [BigUint64Array, 'u64'],
  [Float32Array, 'f32'],
  [Float64Array, 'f64'],
]);

/** Decodes UTF-8, in shared memory too; bytes that are not UTF-8 become U+FFFD. */
export function decoded(bytes) {
  return new TextDecoder().decode(bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice());
}

/** Calls a function that opens a source; errors of the library then name the source as the caller does. */
export function opening(source, open) {
  try {
    return open();
  } catch (error) {
    // Names of the C library for a reader, for bytes, and for files that are mounted in a module.
    const inner = ['callback:', 'data:', source.mounted].find((each) => each && error.message?.startsWith(each));
    const isPlace = error.message?.startsWith('offset '); // of an ONNX file's bytes
    if (!(error instanceof LoomError) || (inner === undefined && !isPlace)) throw error;
    const rest = isPlace ? `: ${error.message}` : error.message.slice(inner.length - (inner === source.mounted ? 0 : 1));
    const message = source.name + rest;
    throw new LoomError(error.code, message, { cause: error.cause, status: error.status });
  }
}

/** The interface of the library over a Core. */
export class Library {
  constructor(core) {
    this.core = core;
    this.wide = core.kind === 'native';
    this.layouts = core.layouts; // of the structs of loom.h
    this.null = this.wide ? 0n : 0;
    this.pointerType = this.wide ? 'u64' : 'u32';
    this.pointerSize = this.wide ? 8 : 4;
    // Handles of objects that were collected without dispose().
    this.collected = new FinalizationRegistry((handle) => this.release(handle));
    this.cause = undefined; // what a callback threw
    this.live = core.live; // handles that outlast a thread which is killed
    this.isAborted = undefined; // whether the call that runs was aborted
  }

  /** What the thread that started this one can reach while a call runs, or after this thread was killed. */
  shared() {
    this.cancel ??= this.make('loom_cancel_create');
    return { live: this.live?.memory, cancel: this.core.cancelPlace(this.cancel) };
  }

  /**
   * Calls `body(cancel)` with a cancel that an abort sets. All calls have the same one: where the abort of another call
   * has set it, the call begins again, so `body` may be ended and repeated.
   */
  cancellable(body) {
    if (this.isAborted === undefined || this.cancel === undefined) return body(0n);
    for (;;) {
      this.check(this.core.call('loom_cancel_set', this.cancel, 0));
      if (this.isAborted()) throw new LoomError('Cancelled', 'the call was aborted');
      try {
        return body(this.cancel);
      } catch (error) {
        if (error.code !== 'Cancelled' || this.isAborted()) throw error;
      }
    }
  }

  /** Throws the error of a status that is not OK. */
  check(status) {
    const cause = this.cause;
    this.cause = undefined;
    if (status === 0) return;
    if (cause instanceof LoomError) throw cause;
    const code = this.core.text(this.core.call('loom_status_name', status));
    throw new LoomError(code, this.core.text(this.core.call('loom_last_error')), { status, cause });
  }

  release(handle) {
    this.core.call('loom_release', handle);
    this.live?.remove(handle);
  }

  /** Runs `body` with memory that is given back after it. */
  frame(body) {
    const frame = new Frame(this);
    try {
      return body(frame);
    } finally {
      frame.free();
    }
  }

  /** Calls a function whose last parameter takes a new handle. */
  make(name, ...args) {
    return this.frame((frame) => {
      const out = frame.alloc(8);
      this.check(this.core.call(name, ...args, out));
      const [handle] = this.core.view('u64', out, 1);
      this.live?.add(handle);
      return handle;
    });
  }

  /** Calls a function whose last parameter takes a blob, and returns a copy of the bytes. */
  blob(name, ...args) {
    const handle = this.make(name, ...args);
    try {
      return this.frame((frame) => {
        const [data, size] = [frame.alloc(8), frame.alloc(8)];
        this.check(this.core.call('loom_blob_view', handle, data, size));
        return this.core.view('u8', this.pointerAt(data), this.sizeAt(size)).slice();
      });
    } finally {
      this.release(handle);
    }
  }

  text(name, ...args) {
    return decoded(this.blob(name, ...args));
  }

  /** Calls a function whose last parameter takes a blob of JSON, and returns the value. */
  json(name, ...args) {
    return JSON.parse(this.text(name, ...args));
  }

  pointerAt(place) {
    return this.core.view(this.pointerType, place, 1)[0];
  }

  sizeAt(place) {
    return Number(this.core.view(this.pointerType, place, 1)[0]);
  }

  /**
   * Runs `body(callback)` with a callback of C around the function; what it throws is the cause of the call's error.
   */
  withCallback(type, call, failed, body) {
    const callback = this.core.callback(type, (...args) => {
      try {
        return call(...args);
      } catch (error) {
        this.cause = error;
        return failed;
      }
    });
    try {
      return body(callback);
    } finally {
      callback.free();
    }
  }
}

/** Memory of one call. */
export class Frame {
  constructor(library) {
    this.library = library;
    this.core = library.core;
    this.pointers = [];
    this.lent = []; // arrays of the caller whose memory the library reads
  }

  free() {
    for (const pointer of this.pointers) this.core.free(pointer);
    this.pointers = [];
    this.lent = [];
  }

  alloc(bytes) {
    const pointer = this.core.alloc(Math.max(bytes, 8));
    if (!pointer) throw new LoomError('OutOfMemory', `out of memory: ${bytes} bytes cannot be allocated`);
    this.pointers.push(pointer);
    return pointer;
  }

  /** Zero-terminated UTF-8; null and undefined become NULL. */
  text(text) {
    return text === undefined || text === null ? this.library.null : this.bytes(encoder.encode(text), 1).pointer;
  }

  /** A copy of bytes, or the bytes themselves where the library can read them. */
  bytes(bytes, room = 0) {
    if (room === 0) return this.array(bytes);
    const pointer = this.alloc(bytes.length + room);
    const view = this.core.view('u8', pointer, bytes.length + room);
    view.set(bytes);
    view.fill(0, bytes.length);
    return { pointer, count: bytes.length };
  }

  /** Values of a typed array, without a copy where the library can read them. */
  array(array) {
    if (this.core.addressOf === undefined) return this.copied(array);
    this.lent.push(array);
    return { pointer: this.core.addressOf(array), count: array.length };
  }

  /** A copy of the values of a typed array, which lasts as long as the frame. */
  copied(array) {
    const pointer = this.alloc(array.byteLength);
    this.core.view(typeOf(array), pointer, array.length).set(array);
    return { pointer, count: array.length };
  }

  /** Whole numbers as an array of uint64. */
  extents(numbers) {
    return this.copied(BigUint64Array.from(numbers, BigInt));
  }

  /** An array of pointers. */
  list(pointers) {
    const pointer = this.alloc(Math.max(1, pointers.length) * this.library.pointerSize);
    this.core.view(this.library.pointerType, pointer, pointers.length).set(pointers);
    return { pointer, count: pointers.length };
  }

  texts(texts) {
    return this.list(texts.map((text) => this.text(text)));
  }

  /** A struct with its size set; fields that `values` does not name are 0. */
  struct(name, values = {}) {
    const { size, fields } = this.library.layouts[name];
    const pointer = this.alloc(size);
    const bytes = this.core.view('u8', pointer, size);
    bytes.fill(0);
    const data = new DataView(bytes.buffer, bytes.byteOffset, size);
    data.setUint32(0, size, true);
    for (const [key, value] of Object.entries(values)) {
      if (value === undefined) continue;
      if (fields[key] === undefined) throw new LoomError('UnknownKey', `${name} has no field ${key}`);
      put(data, fields[key], value, this.library.wide);
    }
    return pointer;
  }

  /** Fields of a struct as an object; u8 arrays as Uint8Array, pointers as such. */
  fields(name, pointer) {
    return fieldsOf(this.library, name, pointer);
  }
}

/** Fields of a struct as an object. */
export function fieldsOf(library, name, pointer) {
  const { size, fields } = library.layouts[name];
  const bytes = library.core.view('u8', pointer, size);
  const data = new DataView(bytes.buffer, bytes.byteOffset, size);
  const out = {};
  for (const [key, field] of Object.entries(fields)) out[key] = get(data, field, library.wide, bytes);
  return out;
}

function put(data, { offset, kind }, value, wide) {
  if (kind === 'i32') data.setInt32(offset, Number(value), true);
  else if (kind === 'u32') data.setUint32(offset, Number(value), true);
  else if (kind === 'i64' || kind === 'u64') data.setBigUint64(offset, BigInt.asUintN(64, BigInt(value)), true);
  else if (kind === 'f32') data.setFloat32(offset, value, true);
  else if (kind === 'f64') data.setFloat64(offset, value, true);
  else if (wide) data.setBigUint64(offset, BigInt(value), true);
  else data.setUint32(offset, Number(value), true);
}

function get(data, { offset, size, kind }, wide, bytes) {
  if (kind === 'i32') return data.getInt32(offset, true);
  if (kind === 'u32') return data.getUint32(offset, true);
  if (kind === 'i64') return Number(data.getBigInt64(offset, true));
  if (kind === 'u64') return Number(data.getBigUint64(offset, true));
  if (kind === 'f32') return data.getFloat32(offset, true);
  if (kind === 'f64') return data.getFloat64(offset, true);
  if (kind === 'u8') return bytes.slice(offset, offset + size);
  if (!wide) return data.getUint32(offset, true);
  return kind === 'size' ? Number(data.getBigUint64(offset, true)) : data.getBigUint64(offset, true);
}

/** Name of a typed array's element as Core.view() takes it. */
export function typeOf(array) {
  return ARRAYS.get(array.constructor);
}
