// Models that the browser keeps: one file per SHA-256 in its own file system, with a description beside it.
import { PageError } from './notice.js';
import { sizeText } from './dom.js';

/** WebAssembly addresses 4 GiB; the rest is for conversation and scratch memory. */
export const LARGEST_MODEL = 3.5 * 2 ** 30;
const KINDS = [
  [[0x47, 0x47, 0x55, 0x46], 'gguf'],
  [[0x45, 0x4e, 0x54, 0x49], 'entity'],
];

/** Returns the browser's own file system, or null where there is none, as in some private windows. */
export async function ownFiles() {
  try {
    return await navigator.storage.getDirectory();
  } catch {
    return null;
  }
}

async function modelFolder() {
  const root = await ownFiles();
  return root && root.getDirectoryHandle('models', { create: true });
}

/** Refuses what cannot be a model before anything is copied. */
export async function checkModel(file) {
  if (file.size === 0) throw new PageError(`${file.name} is empty; a model is a GGUF or .entity file.`);
  if (file.size > LARGEST_MODEL) {
    throw new PageError(
      `${file.name} has ${sizeText(file.size)}; a page can hold models of at most ${sizeText(LARGEST_MODEL)}. ` +
        'Choose a smaller or a more quantised one.',
    );
  }
  const head = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  if (KINDS.some(([magic]) => magic.every((byte, i) => head[i] === byte))) return;
  const onnx = file.name.toLowerCase().endsWith('.onnx') ? ' An ONNX file belongs in the tab Graph.' : '';
  throw new PageError(`${file.name} is not a GGUF or .entity file.${onnx}`);
}

/** Descriptions {sha256, name, size, file} of the models that are kept. */
export async function keptModels() {
  const folder = await modelFolder();
  const found = [];
  if (!folder) return found;
  for await (const [name, handle] of folder.entries()) {
    if (!name.endsWith('.json')) continue;
    try {
      found.push(JSON.parse(await (await handle.getFile()).text()));
    } catch {
      // A description that was cut off: the model is copied again when it is chosen.
    }
  }
  return found.sort((a, b) => a.name.localeCompare(b.name));
}

/** The handle of a kept model's file, by which a worker reads it faster than by the file; undefined where there is none. */
export async function keptHandle(model) {
  if (!model.sha256) return undefined;
  return (await modelFolder()).getFileHandle(model.file);
}

/** The file of a kept model. */
export async function keptFile(model) {
  const file = await (await keptHandle(model)).getFile();
  if (file.size !== model.size)
    throw new PageError(`${model.name} is damaged in this browser; remove it and choose the file again.`);
  return file;
}

export async function removeModel(model) {
  const folder = await modelFolder();
  for (const name of [`${model.sha256}.json`, model.file]) await folder.removeEntry(name).catch(() => {});
}

/** Removes copies that were cut off, unless another page is just writing them. */
export async function removeLeftovers() {
  const folder = await modelFolder();
  if (!folder) return;
  const used = new Set((await keptModels()).map((model) => model.file));
  for await (const name of folder.keys()) {
    if (name.startsWith('incoming-') && !used.has(name)) await folder.removeEntry(name).catch(() => {});
  }
}

/** Says whether so many bytes fit; browsers that do not know take the attempt. */
async function hasRoom(size) {
  const { quota, usage } = await navigator.storage.estimate().catch(() => ({}));
  return quota === undefined || usage + size < quota;
}

/**
 * Copies a model into the browser and returns {model, file}. Where the browser keeps no files or has no room, a chosen
 * file is used as it is: {file, why}.
 * @param {{blob?: File, url?: string, name: string, size: number, sha256?: string}} request
 */
export async function keepModel(request, onProgress, signal) {
  const root = await ownFiles();
  const roomy = root && (await hasRoom(request.size));
  if (!roomy) return direct(request, root ? 'full' : 'none', signal);
  navigator.storage.persist?.().catch(() => {});
  const worker = new Worker(new URL('./worker/keeper.js', import.meta.url), { type: 'module' });
  try {
    const model = await new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      worker.onerror = () => reject(new PageError('The model could not be copied into this browser.'));
      worker.onmessage = ({ data }) => {
        if (data.done !== undefined) onProgress(data.done);
        else if (data.kept) resolve(data.kept);
        else reject(Object.assign(new Error(data.error.message), { name: data.error.name }));
      };
      worker.postMessage(request);
    });
    return { model, file: await keptFile(model) };
  } catch (error) {
    if (error.name === 'QuotaExceededError') return direct(request, 'full', signal);
    if (['NotAllowedError', 'SecurityError', 'TypeError', 'UnknownError'].includes(error.name))
      return direct(request, 'none', signal);
    throw error;
  } finally {
    worker.terminate();
  }
}

const WHY = {
  none: 'This window keeps no files, so the model and the conversations are gone when it closes.',
  full: 'This browser has no room to keep the model, so the file has to be chosen again next time.',
};

async function direct(request, why, signal) {
  if (request.blob) return { file: request.blob, why: WHY[why] };
  const answer = await fetch(request.url, { signal });
  if (!answer.ok) throw new PageError('The model could not be fetched; is loom page still running?');
  return { file: new File([await answer.blob()], request.name), why: WHY[why] };
}
