// Compiles the module from an address, bytes or a compiled module, in Node and in browsers.
import { LoomError } from '../errors.js';

export const isNode = typeof process !== 'undefined' && process.versions?.node !== undefined && typeof process.getBuiltinModule === 'function';

/** A module of Node; bundlers for browsers see no import. */
export const nodeModule = (name) => process.getBuiltinModule(name);

/** @param {URL | string | ArrayBuffer | ArrayBufferView | WebAssembly.Module} from */
export async function compile(from) {
  if (from instanceof WebAssembly.Module) return from;
  if (from instanceof ArrayBuffer || ArrayBuffer.isView(from)) return WebAssembly.compile(from);
  // In Node a text is a path, or an address with its scheme.
  const isPath = isNode && !/^[a-z][\w+.-]+:/i.test(String(from));
  const address = isPath
    ? nodeModule('node:url').pathToFileURL(String(from))
    : new URL(String(from), globalThis.location?.href);
  if (isNode && address.protocol === 'file:') {
    const bytes = await nodeModule('node:fs').promises.readFile(address).catch((error) => {
      throw new LoomError('NotFound', `${from}: the module cannot be read: ${error.message}`, { cause: error });
    });
    return WebAssembly.compile(bytes).catch((error) => {
      throw new LoomError('CorruptData', `${from}: no module of WebAssembly: ${error.message}`, { cause: error });
    });
  }
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: the server answered ${response.status}, expected the module`);
  // Servers that do not know the type of .wasm files, and browsers without streaming.
  if (WebAssembly.compileStreaming && response.headers.get('content-type')?.startsWith('application/wasm')) {
    return WebAssembly.compileStreaming(response);
  }
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Returns whether a module takes shared memory, which workers need. */
export const takesMemory = (module) => WebAssembly.Module.imports(module).some(({ kind }) => kind === 'memory');

/** Returns whether memory can be shared with workers here. */
export const canShareMemory = () => typeof SharedArrayBuffer !== 'undefined' && (isNode || globalThis.crossOriginIsolated === true);
