// The engine in WebAssembly: which module is started, and sources as files that the module can open.
import { LoomError } from '../errors.js';
import { createWasmCore } from '../wasm/core.js';

const canShare = () =>
  typeof SharedArrayBuffer !== 'undefined' &&
  (globalThis.process?.versions?.node !== undefined || globalThis.crossOriginIsolated === true);

/**
 * Starts the module: loom-threads.wasm where memory can be shared and several threads are asked for, else loom.wasm.
 * @param {{module?: string|ArrayBuffer|WebAssembly.Module, threadsModule?: string|ArrayBuffer|WebAssembly.Module}}
 * options
 * @param {number} threads
 */
export async function wasmCore(options, threads, gpu) {
  const shared = canShare() && threads > 1 && (options.threadsModule !== undefined || options.module === undefined);
  const module = shared
    ? (options.threadsModule ?? new URL('../../wasm/loom-threads.wasm', import.meta.url))
    : (options.module ?? new URL('../../wasm/loom.wasm', import.meta.url));
  return createWasmCore({ module, threads: shared ? threads : 1, gpu });
}

let mounted = 0;

/**
 * Gives a source to the module as files.
 * @param {object} core
 * @param {string} name
 * @param {Record<string, Uint8Array|{size: number, read(offset: number, to: Uint8Array): number}>} files by name
 * @returns {{path: string, mounted: string, name: string, close(): void}} the folder
 */
export function mount(core, name, files) {
  const folder = `/sources/${++mounted}`;
  for (const [file, content] of Object.entries(files)) {
    if (file === '' || file.startsWith('/') || file.split('/').includes('..')) {
      throw new LoomError('InvalidArgument', `${JSON.stringify(file)} is no name of a file in a folder`);
    }
    core.files.add(`${folder}/${file}`, content);
  }
  return { path: folder, mounted: folder, name, close: () => core.files.remove(folder) };
}

const MOST_BYTES = 2 ** 32; // of a module's memory

/** Refuses a model that the module's memory cannot hold, before a byte is read. */
function refuseLarge(core, name, size) {
  const free = MOST_BYTES - core.memoryBytes;
  if (size > free) {
    const gib = (bytes) => (bytes / 2 ** 30).toFixed(2);
    throw new LoomError(
      'OutOfMemory',
      `${name} has ${gib(size)} GiB, and the memory of WebAssembly has ${gib(free)} GiB left of ${gib(MOST_BYTES)}: ` +
        'use a smaller model, or the native library in Node',
    );
  }
}

/** A source of one file or of several for a method of engine/root.js, on a module without a file system. */
export function sourceOf(core, method, name, content) {
  const parts = content.files === undefined ? [content.reader ?? content.bytes] : Object.values(content.files);
  refuseLarge(
    core,
    name,
    parts.reduce((sum, each) => sum + (each.size ?? each.length), 0),
  );
  if (content.files !== undefined) {
    const mountedFiles = mount(core, name, content.files);
    const only = method === 'Tokenizer.load' && content.files['tokenizer.json'] !== undefined ? '/tokenizer.json' : '';
    return { ...mountedFiles, path: mountedFiles.path + only };
  }
  return content.reader === undefined
    ? { bytes: content.bytes, name }
    : { reader: content.reader, name, close: () => content.reader.close?.() };
}

/** All bytes of a reader. */
export function allBytes(reader) {
  const bytes = new Uint8Array(reader.size);
  for (let at = 0; at < bytes.length;) {
    const count = reader.read(at, bytes.subarray(at));
    if (count <= 0) throw new LoomError('ReadFailed', `reading ended after ${at} of ${bytes.length} bytes`);
    at += count;
  }
  return bytes;
}
