// Workers, files and the choice of the engine in Node.
import { createRequire } from 'node:module';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { readerOf } from '../describe.js';
import { LoomError, refuseOption } from '../errors.js';
import { LiveHandles } from '../native/live_handles.js';
import { createNativeCore, NativeCore } from '../native/core.js';
import { findModel } from './hub.js';

/** Files of a model's folder that are read. */
const FOLDER_FILES = /\.(json|safetensors|txt|jinja|model)$/;
const LIBRARIES = { linux: 'libloom.so', darwin: 'libloom.dylib', win32: 'loom.dll' };

/** The side that opens models, for engines on this thread. */
export const engineSide = async () => ({ createCore, open });

/** Starts the engine's worker: {post, ref, unref, terminate}. */
export function spawn(options, onMessage, onEnd) {
  const worker = new Worker(options.worker ?? new URL('../worker.node.js', import.meta.url), { name: 'loom' });
  worker.on('message', onMessage);
  worker.on('messageerror', (error) => onEnd(lost(error.message)));
  worker.on('error', (error) => onEnd(lost(error.message)));
  worker.on('exit', (code) => onEnd(lost(`it ended with code ${code}`)));
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    ref: () => worker.ref(),
    unref: () => worker.unref(),
    terminate: () => worker.terminate(),
    end: () => worker.postMessage({ end: true }),
  };
}

const reached = new Map(); // by path: libraries as this thread calls them for a worker

function reach(options) {
  const path = findLibrary(options);
  if (!reached.has(path)) reached.set(path, new NativeCore(loadKoffi(), path));
  return reached.get(path);
}

/** Sets the cancel of a worker that is within a call: `place` is what cancelPlace() of its core gave. */
export function cancel(place, options) {
  if (place?.memory !== undefined) Atomics.store(new Uint8Array(place.memory), place.byte, 1);
  else if (place !== undefined) reach(options).call('loom_cancel_set', place.handle, 1);
}

/** Releases what a worker that was killed held in the native library. */
export function releaseLost(memory, options) {
  if (memory === undefined) return;
  const library = reach(options);
  for (const handle of new LiveHandles(memory).all()) library.call('loom_release', handle);
}

function lost(why) {
  return new LoomError('EngineLost', `the engine's worker is gone (${why}): create the objects again`);
}

/** The kind of engine that is asked for; "auto" leaves the choice to what is installed. */
function kindOf({ kind }) {
  const given = kind ?? process.env.WELVET_ENGINE;
  if (!given) return 'auto';
  if (['auto', 'native', 'wasm'].includes(given)) return given;
  throw new LoomError('InvalidArgument', `WELVET_ENGINE is ${JSON.stringify(given)}: expected auto, native, wasm`);
}

/** Refuses options that the engine of these would not read. */
export function checkOptions(options) {
  const { library, baseUrl } = options;
  const kind = kindOf(options);
  const by = options.kind === undefined ? 'WELVET_ENGINE' : 'kind';
  if (options.gpu) {
    const why = 'gpu is an option of pages: in Node the native library opens the card that LOOM_WEBGPU_LIB reaches';
    throw new LoomError('Unsupported', why);
  }
  if (kind === 'wasm' && library !== undefined) refuseOption('library', `${by} is "wasm"`);
  for (const name of ['module', 'threadsModule']) {
    if (options[name] === undefined) continue;
    if (kind === 'native') refuseOption(name, `${by} is "native"`);
    if (library !== undefined) refuseOption(name, 'library names the engine');
  }
  if (/^(https?|data|blob):/.test(String(baseUrl ?? '')))
    refuseOption('baseUrl', `in Node it is a folder, not the address ${baseUrl}`);
}

/** Options for the worker; paths and URLs as text. */
export function startOptions({ worker: _, ...options }) {
  return Object.fromEntries(
    Object.entries(options).map(([key, value]) => [key, value instanceof URL ? value.href : value]),
  );
}

/** The shared library: WELVET_LIBRARY, prebuilt/PLATFORM-ARCH/ in the package, or beside the package. */
function findLibrary(options) {
  const named = options.library ?? process.env.WELVET_LIBRARY;
  if (named) return named.startsWith('file:') ? fileURLToPath(named) : named;
  const file = LIBRARIES[process.platform] ?? 'libloom.so';
  const folder = fileURLToPath(new URL('../../', import.meta.url));
  const places = [
    join(folder, 'prebuilt', `${process.platform}-${process.arch}`, file),
    join(folder, file),
    join(dirname(folder), file),
  ];
  return places.find((place) => existsSync(place));
}

/** Opens the engine of an options' `kind`; "auto" is the native library where there is one and koffi is installed. */
export async function createCore(options) {
  const { threads } = options;
  const kind = kindOf(options);
  const library = kind === 'wasm' ? undefined : findLibrary(options);
  if (kind === 'native' && library === undefined) {
    throw new LoomError(
      'NotFound',
      'there is no native library of Loom for this platform: set WELVET_LIBRARY to its path, or use kind "wasm"',
    );
  }
  if (library !== undefined) {
    try {
      const core = await createNativeCore({ library, koffi: loadKoffi() });
      core.defaultThreads = threads;
      return core;
    } catch (error) {
      if (kind === 'native' || options.library !== undefined) throw error;
    }
  }
  const { wasmCore } = await import('./wasm.js');
  return wasmCore(options, threads ?? availableParallelism());
}

function loadKoffi() {
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return createRequire(from)('koffi');
    } catch {
      /* the next place */
    }
  }
  throw new LoomError(
    'NotFound',
    'the package koffi, which calls the native library, is not installed: npm install koffi',
  );
}

/** Opens a described source: {path} for the native library, else a reader or bytes. */
export async function open(described, method, core, options, ask) {
  if (described.name !== undefined) {
    const path = findModel(described.name, options.baseUrl);
    const name = described.name;
    if (core.kind === 'native') return { path, name };
    return wasmSource(core, path, name, method);
  }
  return openGiven(described, method, core, ask);
}

/** Opens a source that came with the message. */
async function openGiven(described, method, core, ask) {
  const content = await contentOf(described, ask);
  const name = described.label ?? 'memory';
  if (core.kind === 'wasm') return (await import('./wasm.js')).sourceOf(core, method, name, content);
  if (content.files === undefined || method === 'LM.load') return { ...content, name };
  return inFolder(content.files);
}

async function contentOf(described, ask) {
  if (described.bytes !== undefined) return { bytes: described.bytes };
  if (described.blob !== undefined) return { bytes: new Uint8Array(await described.blob.arrayBuffer()) };
  if (described.shared !== undefined) return { reader: readerOf(described, ask) };
  const files = {};
  for (const [name, each] of Object.entries(described.files)) {
    const { bytes, reader } = await contentOf(each, ask);
    files[name] = bytes ?? (await import('./wasm.js')).allBytes(reader);
  }
  return { files };
}

/** Files in a folder of the system's, for functions of the native library that take a path alone. */
function inFolder(files) {
  const folder = mkdtempSync(join(tmpdir(), 'welvet-'));
  for (const [name, bytes] of Object.entries(files)) {
    const place = join(folder, name);
    if (name === '' || !place.startsWith(folder + sep)) {
      rmSync(folder, { recursive: true, force: true });
      throw new LoomError('InvalidArgument', `${JSON.stringify(name)} is no name of a file in a folder`);
    }
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, bytes);
  }
  return { path: folder, name: 'memory', close: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A file or a folder for an engine that has no file system. */
async function wasmSource(core, path, name, method) {
  const [{ NodeFileSource }, { allBytes, sourceOf }] = await Promise.all([
    import('../wasm/sources.js'),
    import('./wasm.js'),
  ]);
  if (!statSync(path).isDirectory()) {
    const reader = new NodeFileSource(path);
    if (method === 'LM.load') return sourceOf(core, method, name, { reader });
    const bytes = allBytes(reader);
    reader.close();
    return { bytes, name };
  }
  const sources = Object.fromEntries(filesBelow(path).map((file) => [file, new NodeFileSource(join(path, file))]));
  const source = sourceOf(core, method, name, { files: sources });
  return {
    ...source,
    close: () => {
      source.close();
      for (const each of Object.values(sources)) each.close();
    },
  };
}

/** Names of the files of a model's folder and of the folders in it, as 1_Pooling of an encoder. */
function filesBelow(folder) {
  return readdirSync(folder, { recursive: true })
    .map((each) => each.replaceAll('\\', '/'))
    .filter((each) => FOLDER_FILES.test(each) && statSync(join(folder, each)).isFile());
}

/** Writes a file, whole or not at all. `check` gets the bytes of an existing one first. */
export async function save(path, bytes, check) {
  const place = path instanceof URL ? fileURLToPath(path) : String(path);
  if (check && existsSync(place) && statSync(place).isFile()) check(place, await readFile(place));
  const unfinished = `${place}.${process.pid}.part`;
  try {
    await writeFile(unfinished, bytes);
    await rename(unfinished, place);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw new LoomError('IoError', `${place} cannot be written: ${error.message}`, { cause: error });
  }
}

export function nextTask() {
  return new Promise((resolve) => setImmediate(resolve));
}
