// Models among the private files of a page: welvet/OWNER/NAME.gguf, and beside it NAME.gguf.json with the SHA-256 that was
// computed while the model came in. A worker writes them.
import { read, text } from '../engine/options.js';
import { LoomError } from '../errors.js';
import { Sha256 } from '../wasm/sha256.js';

const STORE = 'welvet'; // folder of the origin's private files
const PART = 4 << 20;

const OPTIONS = {
  sha256: (value, what) => {
    if (/^[0-9a-f]{64}$/.test(text(value, what))) return value;
    throw new LoomError('InvalidArgument', `${what} is ${JSON.stringify(value)}: expected 64 digits of 0 to 9 and a to f`);
  },
};

/** The parts of a hub id. */
export function partsOf(name) {
  const parts = String(name).split('/');
  if (parts.length <= 2 && parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\\'))) return parts;
  throw new LoomError('NotFound', `${name}: no address and no hub id`);
}

/** The folder of a hub id and the last part of it; undefined where it does not exist and is not made. */
export async function placeOf(parts, make = false) {
  try {
    let folder = await navigator.storage.getDirectory();
    for (const part of [STORE, ...parts.slice(0, -1)]) folder = await folder.getDirectoryHandle(part, { create: make });
    return { folder, last: parts.at(-1) };
  } catch (error) {
    if (!make) return undefined;
    throw new LoomError('Unsupported', `this page keeps no files: ${error.message}`, { cause: error });
  }
}

/**
 * Copies a model into the store, whole or not at all.
 * @param {string} name its hub id
 * @param {{size: number, read(offset: number, to: Uint8Array): number}} source
 * @param {object} options see OPTIONS
 * @param {(fraction: number) => Promise<boolean>} next lets messages in after each part; false ends the copy
 * @returns {Promise<{name: string, size: number, sha256: string}>}
 */
export async function keep(name, source, options, next) {
  const { sha256: expected } = read(options, OPTIONS, 'storeModel()');
  const { folder, last } = await placeOf(partsOf(name), true);
  const unfinished = `${last}.${crypto.randomUUID()}.part`;
  try {
    const file = await folder.getFileHandle(unfinished, { create: true });
    const sha256 = await copied(source, file, next);
    if (expected !== undefined && sha256 !== expected)
      throw new LoomError('CorruptData', `${name}: the SHA-256 of what came is ${sha256}, expected ${expected}`);
    const about = { name, size: source.size, sha256 };
    await folder.removeEntry(`${last}.gguf.json`).catch(() => {});
    await file.move(`${last}.gguf`);
    await written(await folder.getFileHandle(`${last}.gguf.json`, { create: true }), JSON.stringify(about));
    return about;
  } catch (error) {
    await folder.removeEntry(unfinished).catch(() => {});
    if (error instanceof LoomError) throw error;
    const isFull = error?.name === 'QuotaExceededError';
    const why = isFull ? 'the storage of this page is full' : error.message;
    throw new LoomError(isFull ? 'DiskFull' : 'IoError', `${name} cannot be kept: ${why}`, { cause: error });
  }
}

async function copied(source, file, next) {
  const access = await file.createSyncAccessHandle();
  const hash = new Sha256();
  try {
    const part = new Uint8Array(Math.min(PART, Math.max(1, source.size)));
    for (let at = 0; at < source.size; ) {
      const bytes = part.subarray(0, source.read(at, part.subarray(0, Math.min(part.length, source.size - at))));
      if (bytes.length === 0) throw new LoomError('ReadFailed', `reading ended after ${at} of ${source.size} bytes`);
      if (access.write(bytes, { at }) !== bytes.length) throw new DOMException('', 'QuotaExceededError');
      hash.update(bytes);
      at += bytes.length;
      if (!(await next(at / source.size))) throw new LoomError('Cancelled', 'the call was aborted');
    }
    access.flush();
  } finally {
    access.close();
  }
  return hash.finish();
}

async function written(file, content) {
  const access = await file.createSyncAccessHandle();
  access.truncate(0);
  access.write(new TextEncoder().encode(content), { at: 0 });
  access.flush();
  access.close();
}

/** What the store has: {name, size, sha256} of each model that storeModel() kept. */
export async function storedModels() {
  const found = [];
  const look = async (folder, depth) => {
    for await (const [name, handle] of folder.entries()) {
      if (handle.kind === 'directory' && depth > 0) await look(handle, depth - 1);
      if (handle.kind !== 'file' || !name.endsWith('.gguf.json')) continue;
      const about = await handle.getFile().then((file) => file.text()).then(JSON.parse).catch(() => undefined);
      const model = await folder.getFileHandle(name.slice(0, -'.json'.length)).catch(() => undefined);
      if (about !== undefined && (await model?.getFile())?.size === about.size) found.push(about);
    }
  };
  const place = await placeOf(['']);
  if (place !== undefined) await look(place.folder, 1);
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Removes a model that storeModel() kept. */
export async function removeModel(name) {
  const place = await placeOf(partsOf(name));
  if (place === undefined) return;
  for (const ending of ['.gguf.json', '.gguf']) await place.folder.removeEntry(place.last + ending).catch(() => {});
}
