// WebAssembly in Node beside the native build with the same 128-bit registers, and memory of a long context.
//   node bench/wasm_native.mjs MODEL.gguf [--program build/bin/loom] [--isa sse4] [--threads 1] [--rounds 5] [--module FOLDER]
//     [--memory TOKENS [--kv TYPE]] [--json]
// Both write 57 tokens after a prompt of as many tokens as the engine counts, interleaved. Prints tokens per second (least,
// median, greatest) and the ratio of the medians. --memory measures instead how much memory the module has after a prompt of
// so many tokens, by type of keys and values, each in a process of its own: MiB after loading, after the prompt, after the
// prompt without the file and its largest tensor (target: 61, which is 64 MB), and the most of the process.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import { Library } from '../js/src/engine/library.js';
import { LM as SyncLM } from '../js/src/engine/lm.js';
import { createEngine, LM } from '../js/src/node.js';
import { createWasmCore } from '../js/src/wasm/core.js';
import { ROOT, spread } from './pages.mjs';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    program: { type: 'string', default: path.join(ROOT, 'build/bin/loom') },
    isa: { type: 'string', default: 'sse4' },
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
    module: { type: 'string', default: path.join(ROOT, 'build/wasm/bin') },
    memory: { type: 'string' },
    kv: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const [model] = positionals;
if (model === undefined || positionals.length > 1) {
  console.error('usage: node bench/wasm_native.mjs MODEL.gguf [--program FILE] [--isa NAME] [--threads N] [--rounds N] [--module FOLDER] [--memory TOKENS [--kv TYPE]] [--json]');
  process.exit(2);
}
const threads = Number(flags.threads), rounds = Number(flags.rounds);
const MIB = 1 << 20, LARGEST_TENSOR = 17694720; // token_embd.weight of SmolLM2-135M in Q4_1
const address = (name) => pathToFileURL(path.join(flags.module, `${name}.wasm`)).href;

async function memoryOf(tokens, kvDtype) {
  const core = await createWasmCore({ module: threads > 1 ? address('loom-lm-threads') : address('loom-lm'), threads });
  const size = fs.statSync(model).size, file = fs.openSync(model, 'r');
  const reader = { size, read: (offset, to) => fs.readSync(file, to, 0, to.length, offset) };
  const lm = SyncLM.open(new Library(core), { reader, name: 'model' }, {});
  const loaded = core.memoryBytes;
  const session = lm.session({ contextLength: tokens + 8, kvDtype });
  const ids = Array.from({ length: tokens }, (_, i) => 100 + ((i * 7919) % 40000));
  const logits = session.feed(ids);
  while (!logits.next().done);
  const used = core.memoryBytes;
  const processMiB = process.resourceUsage().maxRSS / 1024;
  session.dispose();
  lm.dispose();
  core.close();
  fs.closeSync(file);
  return { kvDtype, loadedMiB: loaded / MIB, usedMiB: used / MIB, overMiB: (used - size - LARGEST_TENSOR) / MIB, processMiB };
}

async function speeds() {
  const engine = await createEngine({ kind: 'wasm', threads, module: address('loom'), threadsModule: address('loom-threads') });
  const lm = await LM.load(model, { engine });
  const prompt = 'The quick brown fox jumps over the lazy dog. '.repeat(11);
  const native = (tokens) =>
    JSON.parse(
      execFileSync(flags.program, ['bench', model, '--isa', flags.isa, '-t', String(threads), '--repeats', '1', '--prompt-tokens', String(tokens), '--new-tokens', '57', '--json', '-q'], { encoding: 'utf8' }),
    );
  const wasm = { prefill: [], decode: [] }, other = { prefill: [], decode: [] };
  let hash;
  for (let number = 0; number <= rounds; ++number) {
    const r = await lm.generate(`Run ${number}. ${prompt}`, { maxTokens: 57, temperature: 0 });
    const n = native(r.promptTokens);
    hash ??= r.hash;
    if (number === 0) continue; // warms up
    wasm.prefill.push(r.promptTokens / r.prefillSeconds);
    wasm.decode.push(r.tokensPerSecond);
    other.prefill.push(n.prefill_tps);
    other.decode.push(n.decode_tps);
  }
  engine.dispose();
  const of = (key) => ({ wasm: spread(wasm[key]), native: spread(other[key]), ratio: spread(wasm[key]).median / spread(other[key]).median });
  return { threads, isa: flags.isa, prefill: of('prefill'), decode: of('decode'), hash };
}

if (flags.memory !== undefined) {
  const alone = (type) => JSON.parse(execFileSync(process.execPath, [...process.argv.slice(1), '--kv', type, '--json'], { encoding: 'utf8' }))[0];
  const rows = flags.kv === undefined ? ['float32', 'bfloat16', 'int8'].map(alone) : [await memoryOf(Number(flags.memory), flags.kv)];
  if (flags.json) console.log(JSON.stringify(rows));
  else for (const row of rows) console.log(`| ${row.kvDtype} | ${threads} | ${[row.loadedMiB, row.usedMiB, row.overMiB, row.processMiB].map((mib) => mib.toFixed(0)).join(' | ')} |`);
} else {
  const out = await speeds();
  const text = ({ least, median, greatest }) => [least, median, greatest].map((value) => value.toFixed(1)).join(' / ');
  if (flags.json) console.log(JSON.stringify(out));
  else for (const key of ['prefill', 'decode']) console.log(`| ${key} | ${threads} | ${text(out[key].wasm)} | ${text(out[key].native)} | ${out[key].ratio.toFixed(2)} |`);
}
