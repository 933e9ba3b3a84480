// Vectors of texts and ONNX graphs on pages of one Chromium, beside Transformers.js and onnxruntime-web: the same inputs,
// the same number of threads, interleaved.
//   node bench/web_peers.mjs PEERS [--data FOLDER] [--threads 1] [--rounds 7] [--seconds 0.4] [--only TEXT] [--module FOLDER] [--json]
// PEERS is a folder where npm has installed the packages of this line:
//   npm install --prefix PEERS @huggingface/transformers@4.3.2 onnxruntime-web@1.30.0 playwright-core@1.65.1
// FOLDER is what tools/fetch_data.sh laid out (LOOM_DATA). Transformers.js runs minilm_int8.onnx, the only ONNX form of the
// model there; Loom runs the float32 weights of the same model, once as they are and once as int8. Loom computes in a worker;
// onnxruntime-web is measured on the page's thread, which waits meanwhile, and in its own worker. A row has milliseconds of
// one call, least and median, of both, the ratio of the medians and of the least times (above 1 Loom is faster), and how
// far the answers are apart.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { launch, openPage, ROOT, servePages, spread } from './pages.mjs';

const DATA = process.env.LOOM_DATA ?? path.join(process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache'), 'loom/data');
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: 'string', default: DATA },
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '0.4' },
    only: { type: 'string', default: '' },
    module: { type: 'string', default: path.join(ROOT, 'build/wasm/bin') },
    json: { type: 'boolean', default: false },
  },
});
const [peers] = positionals;
if (peers === undefined || positionals.length > 1) {
  console.error('usage: node bench/web_peers.mjs PEERS [--data FOLDER] [--threads N] [--rounds N] [--seconds S] [--only TEXT] [--module FOLDER] [--json]');
  process.exit(2);
}
const threads = Number(flags.threads), rounds = Number(flags.rounds), seconds = Number(flags.seconds);

const SENTENCE = 'The weather is lovely today, and the river runs quietly past the old mill.';
const TEXTS = {
  'MiniLM, 1 text of 18 tokens': [SENTENCE],
  'MiniLM, 8 texts of 18 tokens': Array.from({ length: 8 }, () => SENTENCE),
  'MiniLM, 1 text of 242 tokens': [Array.from({ length: 15 }, () => SENTENCE).join(' ')],
};
const GRAPHS = {
  'Silero VAD, 1x576': ['vad/silero_vad.onnx', [1, 576]],
  'Silero VAD, 5x576': ['vad/silero_vad_16k_sequence.onnx', [5, 576]],
  'PP-OCRv4 direction (CNN), 2x3x48x192': ['onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx', [2, 3, 48, 192]],
  'magika, 2x2048': ['onnx/magika_v3_3.onnx', [2, 2048]],
};

const models = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests/golden/onnx/models.json'), 'utf8')).cases;
const cases = [];
for (const [name, texts] of Object.entries(TEXTS)) {
  for (const dtype of ['float32', 'int8']) cases.push({ name: `${name}, ${dtype}`, kind: 'texts', texts, dtype, peer: 'peer' });
}
for (const [name, [model, shape]] of Object.entries(GRAPHS)) {
  const found = models.find((one) => one.model === model && one.inputs[0].shape.join() === shape.join());
  cases.push({ name, kind: 'graph', model, inputs: found.inputs, peer: 'peer' });
  cases.push({ name: `${name}, peer in its worker`, kind: 'graph', model, inputs: found.inputs, peer: 'worker' });
}
const asked = cases.filter((one) => one.name.includes(flags.only));
if (asked.length === 0) {
  console.error(`--only ${flags.only}: no case has this text; cases: ${cases.map((one) => one.name).join('; ')}`);
  process.exit(2);
}

// Every page: window.prepare(case) returns numbers of an answer, window.round(seconds) milliseconds of calls.
const COMMON = `
  const TYPES = { float32: Float32Array, int32: Int32Array, int64: BigInt64Array };
  window.values = ({ type, shape, modulus, divisor, offset }) => {
    const out = new TYPES[type](shape.reduce((a, b) => a * b, 1));
    for (let i = 0; i < out.length; ++i) {
      const value = ((i * 7919) % modulus) / divisor + offset;
      out[i] = type === 'int64' ? BigInt(value) : value;
    }
    return out;
  };
  window.round = async (seconds) => {
    const times = [], end = performance.now() + seconds * 1000;
    do {
      const begin = performance.now();
      await window.run();
      times.push(performance.now() - begin);
    } while (performance.now() < end);
    times.sort((a, b) => a - b);
    return { least: times[0], median: times[times.length >> 1] };
  };`;
const peerPage = (proxy) => `${COMMON}
  import * as transformers from '/peers/@huggingface/transformers/dist/transformers.min.js';
  import * as ort from '/peers/onnxruntime-web/dist/ort.wasm.min.mjs';
  ort.env.wasm.wasmPaths = new URL('/peers/onnxruntime-web/dist/', location).href;
  ort.env.wasm.numThreads = ${threads};
  ort.env.wasm.proxy = ${proxy};
  ort.env.logLevel = 'error';
  const { env, pipeline } = transformers;
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.useBrowserCache = false;
  env.useWasmCache = false;
  env.localModelPath = '/models/';
  env.backends.onnx.wasm.wasmPaths = new URL('/inner/dist/', location).href;
  env.backends.onnx.wasm.numThreads = ${threads};
  window.prepare = async (one) => {
    if (one.kind === 'texts') {
      const extract = await pipeline('feature-extraction', 'minilm', { dtype: 'q8', device: 'wasm' });
      window.run = () => extract(one.texts, { pooling: 'mean', normalize: true });
      return Array.from((await window.run()).data);
    }
    const session = await ort.InferenceSession.create('/data/' + one.model, { executionProviders: ['wasm'], graphOptimizationLevel: 'all' });
    const data = Object.fromEntries(one.inputs.map((info) => [info.name, window.values(info)]));
    const tensors = () => Object.fromEntries(one.inputs.map(({ name, type, shape }) => [name, new ort.Tensor(type, ${proxy} ? data[name].slice() : data[name], shape)]));
    const inputs = tensors();
    window.run = () => session.run(${proxy} ? tensors() : inputs); // its worker takes the memory of inputs away
    const outputs = await window.run();
    return session.outputNames.flatMap((name) => Array.from(outputs[name].data, Number));
  };`;
const PAGES = {
  loom: `${COMMON}
    import { createEngine, Encoder, Graph } from '/js/src/browser.js';
    const engine = await createEngine({ threads: ${threads}, module: '/module/loom.wasm', threadsModule: '/module/loom-threads.wasm' });
    let held;
    window.prepare = async (one) => {
      await held?.dispose();
      if (one.kind === 'texts') {
        const files = {};
        for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'modules.json', '1_Pooling/config.json', 'model.safetensors'])
          files[name] = new Uint8Array(await (await fetch('/data/minilm/' + name)).arrayBuffer());
        held = await Encoder.load(files, { engine, dtype: one.dtype });
        window.run = () => held.embed(one.texts);
        return Array.from((await window.run()).data);
      }
      held = await Graph.load(new Uint8Array(await (await fetch('/data/' + one.model)).arrayBuffer()), { engine });
      const inputs = Object.fromEntries(one.inputs.map((info) => [info.name, { data: window.values(info), shape: info.shape }]));
      window.run = () => held.forward(inputs);
      return Object.values(await window.run()).flatMap((out) => Array.from(out.data, Number));
    };`,
  peer: peerPage(false),
  worker: peerPage(true),
};

/** How far two answers are apart: 1 - cosine for vectors of texts, the largest difference for graphs. */
function distance(kind, ours, theirs) {
  if (ours.length !== theirs.length) throw new Error(`answers have ${ours.length} and ${theirs.length} numbers`);
  if (kind === 'graph') return Math.max(...ours.map((value, i) => Math.abs(value - theirs[i])));
  let dot = 0, a = 0, b = 0;
  for (let i = 0; i < ours.length; ++i) {
    dot += ours[i] * theirs[i];
    a += ours[i] ** 2;
    b += theirs[i] ** 2;
  }
  return 1 - dot / Math.sqrt(a * b);
}
const FARTHEST = { texts: 0.05, graph: 1e-3 };

const minilm = path.join(flags.data, 'minilm');
const inner = path.join(peers, 'node_modules/@huggingface/transformers/node_modules/onnxruntime-web/');
const server = await servePages({
  pages: PAGES,
  files: {
    '/models/minilm/onnx/model_quantized.onnx': path.join(flags.data, 'onnx/minilm_int8.onnx'),
    '/models/minilm/': minilm + '/', '/data/': flags.data + '/', '/js/': path.join(ROOT, 'js'), '/module/': flags.module,
    '/peers/': path.join(peers, 'node_modules'), '/inner/': fs.existsSync(inner) ? inner : path.join(peers, 'node_modules/onnxruntime-web'),
  },
});
const browser = await launch(peers);
const out = [];
try {
  const pages = {};
  for (const name of Object.keys(PAGES)) pages[name] = (await openPage(browser, server.base, name)).page;
  for (const one of asked) {
    const sides = { loom: pages.loom, peer: pages[one.peer] };
    const answers = {};
    for (const [side, page] of Object.entries(sides)) answers[side] = await page.evaluate((c) => window.prepare(c), one);
    const apart = distance(one.kind, answers.loom, answers.peer);
    if (!(apart <= FARTHEST[one.kind])) throw new Error(`${one.name}: answers are ${apart} apart, expected at most ${FARTHEST[one.kind]}`);
    const times = { loom: [], peer: [] };
    for (let number = 0; number <= rounds; ++number) {
      for (const side of number % 2 ? ['peer', 'loom'] : ['loom', 'peer']) {
        const time = await sides[side].evaluate((s) => window.round(s), number === 0 ? seconds / 2 : seconds);
        if (number > 0) times[side].push(time); // the first one warms up
      }
    }
    const of = (side) => ({ least: Math.min(...times[side].map((t) => t.least)), median: spread(times[side].map((t) => t.median)).median });
    const row = { name: one.name, threads, loom: of('loom'), peer: of('peer'), apart };
    row.ratio = { least: row.peer.least / row.loom.least, median: row.peer.median / row.loom.median };
    out.push(row);
    if (!flags.json) {
      const pair = ({ least, median }) => `${least.toFixed(2)} / ${median.toFixed(2)}`;
      console.log(`| ${row.name} | ${threads} | ${pair(row.loom)} | ${pair(row.peer)} | ${pair(row.ratio)} | ${apart.toExponential(0)} |`);
    }
  }
  if (flags.json) console.log(JSON.stringify(out));
} finally {
  await browser.close();
  server.close();
}
