// Names of models in Node: paths, and hub ids in huggingface_hub's cache. Nothing is downloaded.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LoomError } from '../errors.js';

const LONGEST = 200; // characters of an id
const FILES = ['.gguf', '.entity', '.safetensors', '.json', '.onnx', '.bin', '.pt', '.pth']; // no ends of ids

/** The folder that huggingface_hub keeps models in. */
export function hubCache(env = process.env) {
  const home = env.HF_HOME || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'huggingface');
  return env.HF_HUB_CACHE || join(home, 'hub');
}

/**
 * Finds a model by its path or hub id.
 * @param {string} name
 * @param {string} [base] folder that has models by their ids, looked at after the cache
 * @returns {string} the path; of a hub id that of its newest snapshot
 */
export function findModel(name, base) {
  if (name.startsWith('file:')) return findModel(fileURLToPath(name), base);
  if (name.includes('\0')) throw new LoomError('InvalidArgument', 'the name of a model has a NUL in it');
  if (/^https?:/.test(name)) {
    throw new LoomError('Unsupported', `${name}: in Node a model is a path or a hub id; fetch it and give its bytes`);
  }
  const path = name === '~' || name.startsWith('~/') ? join(homedir(), name.slice(1)) : name;
  if (existsSync(path)) return path;
  const parts = name.split('/');
  const isFile = FILES.some((end) => parts.at(-1).toLowerCase().endsWith(end));
  if (parts.length > 2 || parts.some((part) => part === '') || /^[.~-]/.test(name) || name.length > LONGEST || isFile) {
    throw new LoomError('NotFound', `${name}: no such file or folder`);
  }
  const found = inCache(name, parts) ?? inFolder(name, base);
  if (found !== undefined) return found;
  const also = base === undefined ? '' : ` nor in ${base}`;
  throw new LoomError(
    'NotFound',
    `${name}: no such file or folder, and it is not in ${hubCache()}${also}; to fetch it: loom pull ${name}, or hf download ${name}`,
  );
}

function inCache(name, parts) {
  const folder = join(hubCache(), `models--${parts.join('--')}`);
  const revision = join(folder, 'refs', 'main');
  const snapshots = existsSync(revision) ? [join(folder, 'snapshots', readFileSync(revision, 'utf8').trim())] : [];
  const all = join(folder, 'snapshots');
  if (existsSync(all)) {
    const others = readdirSync(all).map((each) => join(all, each));
    snapshots.push(...others.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs));
  }
  for (const snapshot of snapshots) {
    const model = modelOf(name, snapshot);
    if (model !== undefined) return model;
  }
  return undefined;
}

function inFolder(name, base) {
  if (base === undefined) return undefined;
  const folder = base.startsWith('file:') ? fileURLToPath(base) : base;
  const file = join(folder, `${name}.gguf`);
  return existsSync(file) ? file : modelOf(name, join(folder, name));
}

function modelOf(name, folder) {
  if (existsSync(join(folder, 'config.json'))) return folder;
  if (!existsSync(folder)) return undefined;
  const files = readdirSync(folder)
    .filter((each) => each.endsWith('.gguf'))
    .sort();
  if (files.length > 1)
    throw new LoomError('InvalidArgument', `${name}: ${folder} has ${files.length} GGUF files: give the path of one`);
  return files.length === 1 ? join(folder, files[0]) : undefined;
}
