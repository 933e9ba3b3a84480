// Loom beside other engines on one page of one Chromium: the same file, the same number of threads, in turns.
//   node bench/browser.mjs PEERS MODEL.gguf [--threads 1] [--rounds 5] [--module build/wasm/bin] [--json]
// PEERS is a folder where npm has installed the packages of this line:
//   npm install --prefix PEERS @wllama/wllama@3.13.0 playwright-core@1.65.1
// Prints tokens per second of prompt and answer (least, median and greatest round) and the ratio of the medians.
// `hash` is Loom's: it equals that of `loom generate` with the same prompt.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { launch, openPage, ROOT, servePages, spread } from './pages.mjs';

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

function summary(engine) {
  const of = (key) => spread(engine.rounds.map((round) => round[key]));
  return { threads: engine.threads, loadSeconds: engine.loadSeconds, prefill: of('prefill'), decode: of('decode'), hash: engine.rounds[0].hash };
}

const server = await servePages({
  pages: PAGES,
  files: { '/model.gguf': model, '/js/': path.join(ROOT, 'js'), '/module/': flags.module, '/peers/': path.join(peers, 'node_modules') },
});
const browser = await launch(peers);
try {
  const engines = {};
  for (const name of Object.keys(PAGES)) {
    const { page, loadSeconds } = await openPage(browser, server.base, name);
    engines[name] = { page, loadSeconds, threads: await page.evaluate(() => window.threads), rounds: [] };
  }
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
