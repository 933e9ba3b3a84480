// The engine's side on a page: how the module is started, and sources as files that it can open.
import { readerOf } from '../describe.js';
import { LoomError } from '../errors.js';
import { BlobSource, fetchFile, OpfsSource, RangeSource } from '../wasm/sources.js';
import { keep, partsOf, placeOf } from './store.js';
import { allBytes, sourceOf, wasmCore } from './wasm.js';

/** Files of a model's folder that a base URL is asked for; the first is required. */
const FOLDER = [
  'config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'generation_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'modules.json',
  'config_sentence_transformers.json',
  'sentence_bert_config.json',
  '1_Pooling/config.json',
];
const WEIGHTS = 'model.safetensors';

/** Starts the module; on a page's own thread with one thread, since it may not wait. */
export async function createCore(options) {
  const threads = options.onCallingThread ? 1 : (options.threads ?? globalThis.navigator?.hardwareConcurrency ?? 1);
  if (options.card === undefined) return wasmCore(options, threads);
  const { GpuImports } = await import('../abi/loom_gpu.js');
  let core;
  const memory = () => ({ buffer: core.view('u8', 0, 0).buffer });
  const card = new GpuImports(options.card, (gpu, transfer) => globalThis.postMessage({ gpu }, transfer), memory);
  core = await wasmCore(options, threads, card);
  return core;
}

/** Opens a described source as a reader, bytes, or files. */
export async function open(described, method, core, options, ask) {
  const content = described.name !== undefined ? await named(described.name, options) : await contentOf(described, ask);
  const name = described.name ?? described.label ?? 'memory';
  if (method !== 'LM.load' && content.reader !== undefined) {
    const bytes = allBytes(content.reader);
    content.reader.close?.();
    return { bytes, name };
  }
  return sourceOf(core, method, name, content);
}

/** Copies a source into the page's store (store.js). */
export async function storeModel(described, name, options, engineOptions, ask, next) {
  const content =
    described.name === undefined
      ? await contentOf(described, ask)
      : { reader: await readerOfAddress(new URL(described.name, engineOptions.base).href) };
  if (content.files !== undefined)
    throw new LoomError('Unsupported', `${name}: storeModel() keeps one GGUF file, and the source is a folder of files`);
  const source = content.reader ?? readerOfBytes(content.bytes);
  try {
    return await keep(name, source, options, next);
  } finally {
    source.close?.();
  }
}

async function contentOf(described, ask) {
  if (described.bytes !== undefined) return { bytes: described.bytes };
  if (described.shared !== undefined) return { reader: readerOf(described, ask) };
  if (described.blob !== undefined) return { reader: await readerOfBlob(described.blob) };
  const files = {};
  for (const [name, each] of Object.entries(described.files)) {
    const { bytes, reader } = await contentOf(each, ask);
    files[name] = bytes ?? reader;
  }
  return { files };
}

/** A worker reads a Blob part by part; a page's own thread cannot, so it holds the bytes. */
async function readerOfBlob(blob) {
  if (typeof FileReaderSync !== 'undefined') return new BlobSource(blob);
  return readerOfBytes(new Uint8Array(await blob.arrayBuffer()));
}

function readerOfBytes(bytes) {
  return {
    size: bytes.length,
    read(offset, to) {
      const part = bytes.subarray(offset, offset + to.length);
      to.set(part);
      return part.length;
    },
  };
}

/** A source by its address or hub id: the origin's private files, then the base URL. */
async function named(name, { baseUrl, base }) {
  if (/^(https?:|blob:|data:|\/|\.\/|\.\.\/)/.test(name))
    return { reader: await readerOfAddress(new URL(name, base).href) };
  const stored = await inStore(partsOf(name));
  if (stored !== undefined) return stored;
  if (baseUrl !== undefined) {
    const found = await atBase(
      new URL(`${name}/`, baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`),
      new URL(`${name}.gguf`, baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`),
    );
    if (found !== undefined) return found;
  }
  const where = baseUrl === undefined ? 'and no baseUrl is given' : `nor below ${baseUrl}`;
  throw new LoomError(
    'NotFound',
    `${name} is not among the files of this page (welvet/${name}) ${where}; ` +
      `to fetch it, give initLoom({ baseUrl }) a server that has what "hf download ${name}" fetches`,
  );
}

async function readerOfAddress(address) {
  if (typeof XMLHttpRequest !== 'undefined' && typeof FileReaderSync !== 'undefined' && /^https?:/.test(address)) {
    return RangeSource.open(address);
  }
  return readerOfBlob(await (await fetchFile(address)).blob());
}

/** A model among the origin's private files: welvet/OWNER/NAME.gguf or the folder welvet/OWNER/NAME. */
async function inStore(parts) {
  const place = await placeOf(parts);
  if (place === undefined) return undefined;
  const { folder, last } = place;
  const file = await folder.getFileHandle(`${last}.gguf`).catch(() => undefined);
  if (file !== undefined) return { reader: await readerOfHandle(file) };
  const inside = await folder.getDirectoryHandle(last).catch(() => undefined);
  if (inside === undefined) return undefined;
  const files = {};
  for await (const [name, handle] of inside.entries())
    if (handle.kind === 'file') files[name] = await readerOfHandle(handle);
  return files['config.json'] === undefined ? undefined : { files };
}

async function readerOfHandle(handle) {
  if (typeof handle.createSyncAccessHandle === 'function' && typeof FileReaderSync !== 'undefined') {
    // Another tab that has it open in the old mode: read it as a Blob.
    return OpfsSource.open(handle).catch(async () => readerOfBlob(await handle.getFile()));
  }
  return readerOfBlob(await handle.getFile());
}

/** A model below a base URL: one GGUF file, or the files of a folder. */
async function atBase(folder, file) {
  const one = await fetch(file, { method: 'HEAD' });
  if (one.ok) return { reader: await readerOfAddress(file.href) };
  const files = {};
  for (const name of FOLDER) {
    const response = await fetch(new URL(name, folder));
    if (!response.ok && name === FOLDER[0]) return undefined;
    if (response.ok) files[name] = new Uint8Array(await response.arrayBuffer());
  }
  const index = await fetch(new URL(`${WEIGHTS}.index.json`, folder));
  let shards = [WEIGHTS];
  if (index.ok) {
    files[`${WEIGHTS}.index.json`] = new Uint8Array(await index.arrayBuffer());
    shards = [
      ...new Set(Object.values(JSON.parse(new TextDecoder().decode(files[`${WEIGHTS}.index.json`])).weight_map)),
    ];
  }
  for (const name of shards) files[name] = await readerOfAddress(new URL(name, folder).href);
  return { files };
}

const channel = typeof MessageChannel === 'undefined' ? undefined : new MessageChannel();
const tasks = [];
if (channel !== undefined) channel.port1.onmessage = () => tasks.shift()?.();

/** Resolves after the messages that wait now. */
export function nextTask() {
  return new Promise((resolve) => {
    tasks.push(resolve);
    channel.port2.postMessage(0);
  });
}
