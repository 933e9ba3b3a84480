// Workers and files on a page.
import { LoomError, refuseOption } from '../errors.js';
import { importedWorker, isOwn } from '../workers.js';

/** LM.load() with a device opens the graphics card with the engine. */
export const opensCards = true;

/** Refuses options that an engine on a page would not read. */
export function checkOptions({ kind, library }) {
  if (kind === 'native') throw new LoomError('Unsupported', 'kind is "native": a page has no native library');
  if (library !== undefined) refuseOption('library', 'a page has no native library');
}

/** The models that this page keeps. */
export const store = () => import('./store.js');

/** The side that opens models, for engines on this thread. */
export const engineSide = () => import('./browser_engine.js');

/** Starts the engine's worker: {post, terminate}. */
export function spawn(options, onMessage, onEnd) {
  const worker = start(options.worker);
  let host;
  const opening = options.gpu ? openCard().then((opened) => (host = opened)) : undefined;
  worker.onmessage = ({ data }) => (data.gpu === undefined ? onMessage(data) : host.run(data.gpu));
  worker.onmessageerror = () => onEnd(lost('a message could not be read'));
  worker.onerror = (event) => onEnd(lost(event.message ?? 'it could not start'));
  const deliver = (message, transfer) => {
    if (message.start !== undefined && host !== undefined) message.start.card = host.opened;
    worker.postMessage(message, transfer);
  };
  return {
    post: (message, transfer) => {
      if (opening === undefined || host !== undefined) deliver(message, transfer);
      else
        opening.then(
          () => deliver(message, transfer),
          (error) => onEnd(new LoomError('Unsupported', `the graphics card: ${error.message}`, { cause: error })),
        );
    },
    terminate: () => worker.terminate(),
  };
}

/** Sets the cancel of a worker that is within a call. */
export function cancel(place) {
  if (place !== undefined) Atomics.store(new Uint8Array(place.memory), place.byte, 1);
}

/** The memory of a worker ends with it. */
export function releaseLost() {}

/** The graphics card of a page; its calls come from the worker. */
async function openCard() {
  if (globalThis.crossOriginIsolated !== true) {
    throw new LoomError('Unsupported', 'this page is not cross-origin isolated, which graphics cards need');
  }
  const { GpuHost } = await import('../abi/loom_gpu.js');
  return GpuHost.open(globalThis.navigator?.gpu);
}

/** A worker by address; bundlers follow the first form. */
function start(address) {
  if (address === undefined && isOwn(import.meta.url)) {
    return new Worker(new URL('../worker.browser.js', import.meta.url), { type: 'module', name: 'loom' });
  }
  const place = new URL(address ?? new URL('../worker.browser.js', import.meta.url), globalThis.location?.href).href;
  return isOwn(place) ? new Worker(place, { type: 'module', name: 'loom' }) : importedWorker(place, 'loom');
}

function lost(why) {
  return new LoomError('EngineLost', `the engine's worker is gone (${why}): create the objects again`);
}

/** Options for the worker; addresses are completed by that of the page. */
export function startOptions({ worker: _, ...options }) {
  // A worker that a Blob started has no address of its own.
  const base = globalThis.document?.baseURI ?? globalThis.location?.href;
  const complete = (value) => (typeof value === 'string' || value instanceof URL ? new URL(value, base).href : value);
  const out = { ...options, base };
  for (const key of ['module', 'threadsModule', 'baseUrl']) if (out[key] !== undefined) out[key] = complete(out[key]);
  return out;
}

/** Writes a file of the origin's private files, as "welvet/mine.entity". `check` gets the bytes of an old one. */
export async function save(path, bytes, check) {
  try {
    const parts = String(path)
      .split('/')
      .filter((part) => part !== '');
    let folder = await navigator.storage.getDirectory();
    for (const part of parts.slice(0, -1)) folder = await folder.getDirectoryHandle(part, { create: true });
    const file = await folder.getFileHandle(parts.at(-1), { create: true });
    if (check) check(path, new Uint8Array(await (await file.getFile()).arrayBuffer()));
    const writable = await file.createWritable();
    await writable.write(bytes);
    await writable.close();
  } catch (error) {
    if (error instanceof LoomError) throw error;
    const full = error?.name === 'QuotaExceededError';
    throw new LoomError(
      full ? 'DiskFull' : 'IoError',
      `${path} cannot be written: ${full ? 'the storage of this page is full' : error.message}`,
      { cause: error },
    );
  }
}
