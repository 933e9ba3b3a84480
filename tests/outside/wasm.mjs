// The WebAssembly modules of loom.h and js/src/wasm in Node:  node tests/outside/wasm.mjs FOLDER_OF_MODULES LOOM_H
// The README's answer by one thread and by workers, memory, errors of callbacks, and which functions go in and out.
import { ok, strictEqual as equal, deepStrictEqual as same, throws } from 'node:assert';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { argv, env, exit } from 'node:process';
import { pathToFileURL } from 'node:url';
import { Encoder } from '../../js/src/engine/encoder.js';
import { Library } from '../../js/src/engine/library.js';
import { LM } from '../../js/src/engine/lm.js';
import { mount } from '../../js/src/platform/wasm.js';
import { createWasmCore } from '../../js/src/wasm/core.js';
import { NodeFileSource } from '../../js/src/wasm/sources.js';

const [folder, header] = argv.slice(2);
const MODULES = {
  one: join(folder, 'loom.wasm'), threads: join(folder, 'loom-threads.wasm'), lm: join(folder, 'loom-lm.wasm'),
};
const SOURCES = new URL('../../', import.meta.url);
const DATA = env.LOOM_DATA ?? join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'loom/data');
const MODEL = env.LOOM_MODEL ?? join(DATA, 'llm/SmolLM2-135M-Instruct.Q4_1.gguf');
const GRAPH = join(DATA, 'vad/silero_vad.onnx');
const ENCODER = join(DATA, 'minilm');
const ENCODER_FILES = ['config.json', 'tokenizer.json', 'modules.json', '1_Pooling/config.json', 'model.safetensors'];
const QUESTION = 'What is the capital of France?';
const ANSWER = 'The capital of France is Paris.';
const HASH = '99554f0dd10b063f3823862f0bd1ad96c7eb36c459042190987e614657b8bb7b';
const LARGEST_TENSOR = 17694720; // token_embd.weight of the model
const MIB = 1 << 20;

const sha256 = (values) => createHash('sha256').update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength)).digest('hex');
function last(generator) {
  for (;;) {
    const { done, value } = generator.next();
    if (done) return value;
  }
}
const start = (name, threads = 1) => createWasmCore({ module: pathToFileURL(MODULES[name]), threads });

function check(core, status) {
  if (status === 0) return;
  throw new Error(`${core.text(core.call('loom_status_name', status))}: ${core.text(core.call('loom_last_error'))}`);
}

/** Calls a function whose last parameter takes a handle. */
function make(core, name, ...args) {
  const out = core.alloc(8);
  try {
    check(core, core.call(name, ...args, out));
    return core.view('u64', out, 1)[0];
  } finally {
    core.free(out);
  }
}

function load(core, source) {
  const memory = () => core;
  const read = core.callback('read_at', (offset, to, size) => source.read(Number(offset), memory().view('u8', to, size)));
  try {
    return make(core, 'loom_model_from_callback', BigInt(source.size), read.pointer, read.user, 0);
  } finally {
    read.free();
  }
}

function generate(core, session, question, options = {}) {
  const text = core.string(question);
  const given = core.struct('generation_options', options);
  const generator = make(core, 'loom_generator_from_text', session, text.pointer, text.length, 0, given);
  const step = core.struct('step');
  let answer = '';
  do {
    check(core, core.call('loom_generator_next', generator, 0n, step));
    const { text: piece, text_size: size } = core.fields('step', step);
    answer += new TextDecoder().decode(core.read(piece, size));
  } while (core.fields('step', step).stop === 0);
  const result = core.struct('generation');
  check(core, core.call('loom_generator_result', generator, result));
  const hash = Buffer.from(core.read(result + HASH_OFFSET, 32)).toString('hex');
  const facts = core.fields('generation', result);
  for (const pointer of [given, step, result]) core.free(pointer);
  text.free();
  core.call('loom_release', generator);
  return { answer, hash, facts };
}
const { layouts } = await import('../../js/src/abi/loom_abi.js');
const HASH_OFFSET = layouts.wasm32.generation.fields.hash.offset;

const tests = {
  async 'every function of loom.h goes out, and only the listed ones come in'() {
    const declared = [...readFileSync(header, 'utf8').matchAll(/^LOOM_API [^;]*?(loom_[a-z0-9_]+)\(/gm)].map(([, name]) => name);
    ok(declared.length > 200, `${declared.length} functions in loom.h`);
    const allowed = readFileSync(new URL('wasm_imports.txt', import.meta.url), 'utf8').trim().split('\n').sort();
    for (const name of ['one', 'threads']) {
      const path = MODULES[name];
      const module = await WebAssembly.compile(readFileSync(path));
      const exported = new Set(WebAssembly.Module.exports(module).map((one) => one.name));
      same(declared.filter((one) => !exported.has(one)), [], path);
      const imports = WebAssembly.Module.imports(module).map((one) => `${one.module}.${one.name}`);
      same(imports.filter((one) => one !== 'env.memory').sort(), allowed, path);
      equal(imports.includes('env.memory'), name === 'threads', path);
    }
  },

  async 'the answer of the README, tensor by tensor'() {
    const core = await start('one');
    const source = new NodeFileSource(MODEL);
    const model = load(core, source);
    const loaded = core.memoryBytes;
    ok(loaded < source.size + LARGEST_TENSOR + 48 * MIB, `${loaded} bytes after loading a file of ${source.size}`);
    const session = make(core, 'loom_session_create', model, 0);
    const { answer, hash } = generate(core, session, QUESTION);
    equal(answer, ANSWER);
    equal(hash, HASH);
    source.close();
    core.close();
  },

  async 'the same bits with workers'() {
    for (const threads of [1, 2, 4]) {
      const core = await start('threads', threads);
      equal(core.threads, threads);
      const source = new NodeFileSource(MODEL);
      const session = make(core, 'loom_session_create', load(core, source), 0);
      equal(generate(core, session, QUESTION).hash, HASH, `${threads} threads`);
      source.close();
      core.close();
    }
  },

  // cmake/lm_kernels.cpp gives them empty tables: calling one would end the engine. Passes of targets, which train, start gaps.
  async 'no function of loom-lm.wasm starts an operation without kernels'() {
    const map = readFileSync(MODULES.lm.replace(/wasm$/, 'map'), 'utf8');
    const headers = readFileSync(new URL('cmake/lm_kernels.cpp', SOURCES), 'utf8').matchAll(/^#include "(ops\/.*)"$/gm);
    const starts = [...headers].filter(([, header]) => header !== 'ops/gap/gap.h').flatMap(([, header]) =>
      [...readFileSync(new URL(`src/${header}`, SOURCES), 'utf8').matchAll(/\b([a-z_0-9]+)\(const Exec& /g)]);
    const linked = (name) => map.includes(`:(_ZN4loom${name.length}${name}E`);
    ok(linked('matmul') && linked('gather_rows'), 'the map names functions as expected');
    ok(starts.length > 50, `${starts.length} functions in the headers`);
    same(starts.map(([, name]) => name).filter(linked), []);
  },

  async 'models and encoders give the same bits by loom-lm.wasm'() {
    const files = Object.fromEntries(ENCODER_FILES.map((name) => [name, new Uint8Array(readFileSync(join(ENCODER, name)))]));
    const found = [];
    for (const name of ['one', 'lm']) {
      const core = await start(name), library = new Library(core);
      const encoder = Encoder.open(library, mount(core, 'minilm', files), {});
      const { data } = encoder.embed(['The weather is lovely today.', QUESTION]);
      const lm = LM.open(library, { bytes: new Uint8Array(readFileSync(MODEL)), name: 'model' }, {});
      const { hash } = last(lm.generate(QUESTION, { maxTokens: 4, temperature: 0.8, seed: 7 }));
      const session = lm.session({ kvDtype: 'int8' });
      const logits = last(session.feed(Array.from({ length: 20 }, (_, i) => 100 + 37 * i)));
      found.push([sha256(data), hash, sha256(logits)]);
      for (const each of [session, lm, encoder]) each.dispose();
      core.close();
    }
    same(found[1], found[0]);
  },

  async 'graphs of ONNX files are read'() {
    const core = await start('one');
    const file = readFileSync(GRAPH);
    const pointer = core.alloc(file.length);
    core.write(pointer, file);
    const graph = make(core, 'loom_graph_from_memory', pointer, file.length, 0);
    equal(core.call('loom_release', graph), 0);
    core.close();
  },

  // errno of wasi-libc is no thread-local variable; code with atomics that takes it for one writes into the heap.
  async 'reading numbers leaves memory of others alone'() {
    for (const name of ['one', 'threads']) {
      const core = await start(name);
      const bytes = 4 * MIB;
      const others = core.alloc(bytes);
      core.view('u8', others, bytes).fill(0xa5);
      const spec = core.string('{"seed": 1000, "input_shape": [8], "layers": [{"type": "dense", "output_height": 1.2e1}]}');
      const options = core.struct('network_options');
      const out = core.alloc(8);
      core.call('loom_network_from_json', spec.pointer, spec.length, options, out);
      equal(core.view('u8', others, bytes).findIndex((byte) => byte !== 0xa5), -1, `loom module ${name}`);
      core.close();
    }
  },

  async 'a callback that throws ends its call with what it threw'() {
    const core = await start('one');
    const broken = { size: 1 << 20, read: () => { throw new RangeError('no such bytes'); } };
    throws(() => load(core, broken), RangeError);
    throws(() => load(core, { size: 1 << 20, read: () => -1 }), /IoError: .*callback/);
    throws(() => load(core, { size: 2 ** 33, read: (offset, to) => to.length }), /begin|GGUF|memory/);
    core.close();
    throws(() => core.call('loom_version'), /closed/);
  },
};

if (!Object.values(MODULES).every((path) => existsSync(path))) {
  console.log(`skipped: no modules in ${folder}; build them with: cmake --build build/wasm --target loom_wasm_modules`);
  exit(77);
}
for (const file of [MODEL, GRAPH, ...ENCODER_FILES.map((name) => join(ENCODER, name))]) {
  if (existsSync(file)) continue;
  console.log(`skipped: no file ${file}`);
  exit(77);
}
for (const [name, test] of Object.entries(tests)) {
  const begin = performance.now();
  await test();
  console.log(`${name}: ${((performance.now() - begin) / 1000).toFixed(1)} s`);
}
