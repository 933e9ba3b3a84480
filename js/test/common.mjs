// What the tests share: models, engines, the figures of the native program.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const DATA = process.env.LOOM_DATA ?? join(homedir(), '.cache/loom/data');
export const MODEL = [
  join(DATA, 'llm/SmolLM2-135M-Instruct.Q4_1.gguf'),
  join(homedir(), '.cache/loom/models/SmolLM2-135M-Instruct.Q4_1.gguf'),
].find((path) => existsSync(path));
export const QUESTION = 'What is the capital of France?';
export const ANSWER = 'The capital of France is Paris.';
export const HASH = /"hash": "([0-9a-f]{64})"/.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'))[1];

/** Folder of loom.wasm and loom-threads.wasm. */
export const WASM =
  process.env.LOOM_WASM ||
  [join(ROOT, 'js/wasm'), join(ROOT, 'build/wasm/bin')].find((each) => existsSync(join(each, 'loom.wasm'))) ||
  join(ROOT, 'build/wasm/bin');

/** Engines that can run here, and why the others cannot. */
export function engines() {
  const wasm = WASM;
  const out = {
    native: process.env.WELVET_LIBRARY ? { options: { kind: 'native' } } : { skip: 'WELVET_LIBRARY is not set' },
    wasm: { skip: `there is no ${wasm}/loom.wasm: build the preset wasm` },
    wasm_threads: { skip: `there is no ${wasm}/loom-threads.wasm: build the preset wasm` },
  };
  if (existsSync(join(wasm, 'loom.wasm'))) {
    out.wasm = { options: { kind: 'wasm', threads: 1, module: `file://${wasm}/loom.wasm` } };
  }
  if (existsSync(join(wasm, 'loom-threads.wasm'))) {
    out.wasm_threads = {
      options: {
        kind: 'wasm',
        threads: 2,
        module: `file://${wasm}/loom.wasm`,
        threadsModule: `file://${wasm}/loom-threads.wasm`,
      },
    };
  }
  return out;
}

/** Runs a test for every engine, or for those of a list; for all with LOOM_OUTSIDE=whole. */
export function everyEngine(test, name, body, only = ['native', 'wasm', 'wasm_threads']) {
  for (const [engine, { options, skip }] of Object.entries(engines())) {
    if (process.env.LOOM_OUTSIDE === 'whole' || only.includes(engine))
      test(`${name} (${engine})`, { skip }, () => body(options, engine));
  }
}

/** Figures of the native library through Python's welvet: hashes of a training, of tokens and of vectors. */
export function nativeFigures() {
  const python = process.env.LOOM_PYTHON ?? 'python3';
  const text = execFileSync(python, ['-B', join(ROOT, 'js/test/native_figures.py'), MODEL, DATA], {
    env: { ...process.env, PYTHONPATH: join(ROOT, 'python') },
    encoding: 'utf8',
  });
  return JSON.parse(text);
}

/** The deterministic batches and texts that both sides use. */
export const SPEC = {
  seed: 3,
  layers: [
    { type: 'dense', input_height: 8, output_height: 16, activation: 'tanh' },
    { type: 'dense', input_height: 16, output_height: 4 },
  ],
};
export const TRAINING = { loss: 'mse', learning_rate: 0.05, optimizer: 'adam' };
export const STEPS = 500;
export const TEXTS = [
  'Hello world',
  'naïve café — 東京 🙂',
  'def f(x):\n    return x ** 2\n',
  '  two  spaces\t1234567',
  "don't stop",
];
export const SENTENCES = ['It rains.', 'The sun shines.', 'Ada Lovelace wrote the first program.'];

export function batch(step) {
  const inputs = Array.from({ length: 4 }, (_, i) =>
    Array.from({ length: 8 }, (_, j) => ((step * 31 + i * 7 + j * 3) % 17) / 16 - 0.5),
  );
  const targets = inputs.map((row) => [0, 1, 2, 3].map((k) => row[k] * 0.5 + row[k + 4] * 0.25));
  return { inputs, targets };
}
