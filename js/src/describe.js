// Sources of models as messages: a path, a hub id, a URL, a Blob, bytes, files by name, an object that reads.
import { isDetached } from './engine/tensors.js';
import { LoomError, mismatch } from './errors.js';

const PART = 1 << 22; // bytes of one read

/**
 * Describes a source for the engine, and what this side has to do for it.
 * @param {unknown} source
 * @returns {Promise<{described: object, reader?: object}>}
 */
export async function describe(source) {
  if (typeof source === 'string') {
    if (source === '') throw new LoomError('InvalidArgument', 'the name of a model is empty');
    return { described: { name: source } };
  }
  if (typeof URL !== 'undefined' && source instanceof URL) return { described: { name: source.href } };
  if (source instanceof ArrayBuffer) return describe(new Uint8Array(source));
  if (ArrayBuffer.isView(source)) {
    if (isDetached(source))
      throw new LoomError('InvalidArgument', 'the source: its memory was moved to another thread, so it has no bytes');
    return { described: { bytes: new Uint8Array(source.buffer, source.byteOffset, source.byteLength) } };
  }
  if (typeof Blob !== 'undefined' && source instanceof Blob) return ofBlob(source);
  if (typeof source?.getFile === 'function') return ofBlob(await source.getFile());
  if (typeof source?.read === 'function') return customReader(source);
  if (source !== null && typeof source === 'object' && source.constructor === Object) {
    const files = {};
    for (const [name, content] of Object.entries(source)) files[name] = (await describe(content)).described;
    return { described: { files } };
  }
  throw mismatch(
    'the source',
    'a path, a hub id, a URL, a Blob, bytes, files by name or {size, read(offset, length)}',
    source,
  );
}

/** A Blob; the name of a File goes with it, since not every worker gets a File as one. */
const ofBlob = (blob) => ({ described: { blob, label: blob.name } });

/** An object with size and read(offset, length), which may return a promise. */
async function customReader(source) {
  if (!Number.isSafeInteger(source.size) || source.size < 0)
    throw mismatch('size of the source', 'a whole number', source.size);
  if (typeof SharedArrayBuffer !== 'undefined') {
    const shared = new SharedArrayBuffer(16 + Math.min(PART, Math.max(source.size, 1)));
    return { described: { size: source.size, shared }, reader: { shared, source } };
  }
  // Without shared memory a worker cannot wait for this thread: all is read before.
  const bytes = new Uint8Array(source.size);
  for (let at = 0; at < bytes.length;) {
    const length = Math.min(PART, bytes.length - at);
    let part;
    try {
      part = await source.read(at, length);
    } catch (error) {
      throw new LoomError('ReadFailed', `read(${at}, ${length}) of the source failed: ${error?.message ?? error}`, {
        cause: error,
      });
    }
    if (!(part instanceof Uint8Array)) throw mismatch('the result of read()', 'a Uint8Array', part);
    if (part.length === 0) throw new LoomError('ReadFailed', `read(${at}, ${length}) of the source gave no bytes`);
    bytes.set(part.subarray(0, length), at);
    at += Math.min(part.length, length);
  }
  return { described: { bytes } };
}

/** The engine's side of a custom reader; `ask` waits for the other side. */
export function readerOf({ size, shared }, ask) {
  const room = new Uint8Array(shared, 16);
  return {
    size,
    read(offset, into) {
      let done = 0;
      while (done < into.length) {
        const length = Math.min(into.length - done, room.length);
        const count = ask({ offset: offset + done, length, shared });
        if (count < 0) return -1;
        if (count === 0) break;
        into.set(room.subarray(0, count), done);
        done += count;
      }
      return done;
    },
  };
}
