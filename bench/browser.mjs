// Loom beside other engines on one page of one Chromium: the same file, the same number of threads, in turns.
//   node bench/browser.mjs PEERS MODEL.gguf [--threads 1] [--rounds 5] [--module build/wasm/bin] [--json]
// PEERS is a folder where npm has installed the packages of this line:
//   npm install --prefix PEERS @wllama/wllama@3.13.0 playwright-core@1.65.1
// Prints tokens per second of prompt and answer (least, median and greatest round) and the ratio of the medians.
// `hash` is Loom's: it equals that of `loom generate` with the same prompt.
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = path.resolve(import.meta.dirname, '..');
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
    module: { type: 'string', default: path.join(ROOT, 'build/wasm/bin') },
    json: { type: 'boolean', default: false },
  },
});
const [peers, model] = positionals;
if (model === undefined) {
  console.error('usage: node bench/browser.mjs PEERS MODEL.gguf [--threads N] [--rounds N] [--module FOLDER] [--json]');
  process.exit(2);
}
const threads = Number(flags.threads), rounds = Number(flags.rounds);
const { chromium } = createRequire(path.join(path.resolve(peers), 'package.json'))('playwright-core');

const PROMPT = 'The quick brown fox jumps over the lazy dog. '.repeat(11);
const NEW_TOKENS = 57;

const PAGES = {
  loom: `
    import { createEngine, LM } from '/js/src/browser.js';
    const engine = await createEngine({ threads: ${threads}, module: '/module/loom.wasm', threadsModule: '/module/loom-threads.wasm' });
    const lm = await LM.load(new URL('/model.gguf', location).href, { engine });
    window.threads = engine.threads;
    window.round = async (number) => {
      const r = await lm.generate('Run ' + number + '. ${PROMPT}', { maxTokens: ${NEW_TOKENS}, temperature: 0 });
      return { prefill: r.promptTokens / r.prefillSeconds, decode: r.tokensPerSecond, hash: r.hash, tokens: r.ids.length };
    };`,
  wllama: `
    import { Wllama } from '/peers/@wllama/wllama/esm/index.js';
    const w = new Wllama({ default: '/peers/@wllama/wllama/esm/wasm/wllama.wasm' }, { suppressNativeLog: true });
    const blob = await (await fetch('/model.gguf')).blob();
    await w.loadModel([blob], { n_ctx: 1024, n_threads: ${threads}, n_gpu_layers: 0, n_parallel: 1 });
    window.threads = w.getNumThreads();
    window.round = async (number) => {
      const { timings: t } = await w.createCompletion({ prompt: 'Run ' + number + '. ${PROMPT}', max_tokens: ${NEW_TOKENS},
        temperature: 0, ignore_eos: true, cache_prompt: false });
      return { prefill: t.prompt_per_second, decode: t.predicted_per_second, tokens: t.predicted_n };
    };`,
};

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };
const ISOLATED = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

function fileOf(address) {
  if (address === '/model.gguf') return model;
  for (const [prefix, folder] of [['/js/', path.join(ROOT, 'js')], ['/module/', flags.module], ['/peers/', path.join(peers, 'node_modules')]]) {
    if (address.startsWith(prefix)) return path.join(folder, path.normalize('/' + address.slice(prefix.length)));
  }
  return undefined;
}

function serve(request, response) {
  const address = decodeURIComponent(request.url.split('?')[0]);
  const page = PAGES[address.slice(1)];
  if (page !== undefined) {
    response.writeHead(200, { ...ISOLATED, 'Content-Type': 'text/html' });
    response.end(`<!doctype html><title>${address}</title><script type="module">${page}\nwindow.ready = true;</script>`);
    return;
  }
  const file = fileOf(address);
  if (file === undefined || !fs.existsSync(file)) {
    response.writeHead(404, ISOLATED).end();
    return;
  }
  const { size } = fs.statSync(file);
  const headers = { ...ISOLATED, 'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream', 'Accept-Ranges': 'bytes' };
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const [begin, end] = range ? [Number(range[1]), range[2] === '' ? size - 1 : Math.min(Number(range[2]), size - 1)] : [0, size - 1];
  if (range) headers['Content-Range'] = `bytes ${begin}-${end}/${size}`;
  response.writeHead(range ? 206 : 200, { ...headers, 'Content-Length': end - begin + 1 });
  if (request.method === 'HEAD') response.end();
  else fs.createReadStream(file, { start: begin, end }).pipe(response);
}

async function open(browser, base, name) {
  const page = await browser.newPage();
  const said = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  const begin = performance.now();
  await page.goto(`${base}/${name}`);
  try {
    await page.waitForFunction(() => window.ready, undefined, { timeout: 180000 });
  } catch {
    throw new Error(`${name} did not start: ${said.slice(0, 5).join('; ')}`);
  }
  return { page, loadSeconds: (performance.now() - begin) / 1000, threads: await page.evaluate(() => window.threads), rounds: [] };
}

const sorted = (values) => [...values].sort((a, b) => a - b);
function summary(engine) {
  const of = (key) => {
    const all = sorted(engine.rounds.map((round) => round[key]));
    return { least: all[0], median: all[all.length >> 1], greatest: all.at(-1) };
  };
  return { threads: engine.threads, loadSeconds: engine.loadSeconds, prefill: of('prefill'), decode: of('decode'), hash: engine.rounds[0].hash };
}

const server = http.createServer(serve);
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const base = `http://127.0.0.1:${server.address().port}`;
  const engines = {};
  for (const name of Object.keys(PAGES)) engines[name] = await open(browser, base, name);
  for (let number = 0; number <= rounds; ++number) {
    const turn = Object.values(engines);
    if (number % 2 === 1) turn.reverse();
    for (const engine of turn) {
      const round = await engine.page.evaluate((n) => window.round(n), number);
      if (number > 0) engine.rounds.push(round); // the first one warms up
    }
  }
  const out = Object.fromEntries(Object.entries(engines).map(([name, engine]) => [name, summary(engine)]));
  const ratio = (key) => out.loom[key].median / out.wllama[key].median;
  out.ratios = { prefill: ratio('prefill'), decode: ratio('decode') };
  if (flags.json) console.log(JSON.stringify(out));
  else {
    const text = ({ least, median, greatest }) => [least, median, greatest].map((v) => v.toFixed(1).padStart(7)).join(' ');
    for (const name of Object.keys(PAGES)) {
      const e = out[name];
      console.log(`${name.padEnd(8)} ${e.threads} threads  prefill ${text(e.prefill)}  decode ${text(e.decode)} tok/s  load ${e.loadSeconds.toFixed(1)} s`);
    }
    console.log(`ratio of medians: prefill ${out.ratios.prefill.toFixed(2)}, decode ${out.ratios.decode.toFixed(2)}; hash ${out.loom.hash}`);
  }
} finally {
  await browser.close();
  server.close();
}
