// Computes the same five values with every engine of JavaScript that this machine can run, and writes the table "Browsers
// and Node" of docs/platforms.md.
//   node tools/web_table.mjs [--write] [--check] [--whole] [--only TEXT] [--native FOLDER] [--module FOLDER]
// --write puts the table into the page. --check compares what was computed with the values of the page. --whole computes
// the golden set on the software card, too, which takes an hour. --only runs rows whose names contain the text. FOLDER has the native library and program (build), or the modules (build/wasm/bin).
// A row that cannot be run says why. Ends with 1 if a column has two values, or if --check finds another value.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { serve } from '../js/test/server.mjs';
import { patienceMs } from './patience.mjs';

const ROOT = path.resolve(import.meta.dirname, '..');
const PAGE = path.join(ROOT, 'docs/platforms.md');
const BEGIN = '<!-- made by tools/web_table.mjs -->', END = '<!-- end of tools/web_table.mjs -->';
const COLUMNS = { answer: "README's answer", digest: 'Golden set', training_steps: '500 training steps', tokenizers: 'Tokenizers', embedding: 'Embedding' };
const PATIENCE_MS = patienceMs(900000);
const CACHE = process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache');
const DATA = process.env.LOOM_DATA ?? path.join(CACHE, 'loom/data');
const MODEL = path.join(DATA, 'llm/SmolLM2-135M-Instruct.Q4_1.gguf');

const { values: flags } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    native: { type: 'string', default: path.join(ROOT, 'build') },
    module: { type: 'string', default: path.join(ROOT, 'build/wasm/bin') },
  },
});

/** Why a row cannot be run on this machine. */
class NotRun extends Error {}

function need(file, what = file) {
  if (!existsSync(file)) throw new NotRun(`there is no ${path.isAbsolute(what) ? path.relative(ROOT, what) : what}`);
  return file;
}

function run(command, args, environment = {}) {
  return execFileSync(command, args, { encoding: 'utf8', env: { ...process.env, ...environment }, timeout: PATIENCE_MS, stdio: ['ignore', 'pipe', 'pipe'] });
}

function program() {
  const loom = need(path.join(flags.native, 'bin/loom'), 'build/bin/loom');
  return JSON.parse(run(loom, ['verify', '--report', '--json', '--model', MODEL]));
}

function node(kind, threads) {
  const row = path.join(ROOT, 'tools/digest_rows/row.mjs');
  const environment = {};
  if (kind === 'native') {
    environment.WELVET_LIBRARY = need(path.join(flags.native, 'libloom.so'), 'build/libloom.so');
    environment.NODE_PATH = path.join(process.env.LOOM_NPM ?? path.join(CACHE, 'loom/npm'), 'package/node_modules');
    need(path.join(environment.NODE_PATH, 'koffi'), 'npm package koffi: tools/npm_packages.sh package installs it');
  } else {
    need(path.join(flags.module, 'loom.wasm'), 'build/wasm/bin/loom.wasm');
  }
  const from = kind === 'native' ? kind : flags.module;
  return JSON.parse(run(process.execPath, [row, from, MODEL, '--threads', String(threads), '--data', DATA], environment));
}

// Each browser starts with a profile of its own and opens one address; the page sends its row to the server.
const BROWSERS = {
  Chromium: {
    names: ['chromium', 'chromium-browser', 'google-chrome'],
    words: (profile, url) => ['--headless=new', '--no-sandbox', '--no-first-run', `--user-data-dir=${profile}`, '--remote-debugging-port=0', url],
    card: ['--disable-gpu-watchdog', '--enable-unsafe-webgpu', '--enable-features=Vulkan', '--use-webgpu-adapter=swiftshader'],
  },
  Firefox: { names: ['firefox-esr', 'firefox'], words: (profile, url) => ['--headless', '--no-remote', '--profile', profile, url] },
};

function installed(names) {
  for (const name of names) {
    try {
      return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    } catch {
      // the next one
    }
  }
  throw new NotRun(`${names.join(' or ')} is not installed`);
}

const PAGE_OF_ROW = `<!doctype html><title>row</title><script type="module">
  import * as api from '/js/src/browser.js';
  import { valuesOf } from '/rows/values.mjs';
  const post = (row) => fetch('/', { method: 'POST', body: JSON.stringify(row) });
  try {
    const asked = new URL(location).searchParams;
    const threads = Number(asked.get('threads')), device = asked.get('device') ?? 'cpu', gpu = device !== 'cpu';
    const engine = await api.createEngine({ threads, gpu, module: '/module/loom.wasm', threadsModule: '/module/loom-threads.wasm' });
    if (engine.threads !== threads) throw new Error(engine.threads + ' threads');
    if (gpu && (await engine.gpuReport()).adapters.length === 0) throw new Error('the page has no graphics card');
    const read = async (name) => new Uint8Array(await (await fetch('/data/' + name)).arrayBuffer());
    const without = asked.getAll('without'), milliseconds = {};
    const took = (name, time) => void (milliseconds[name] = time);
    const row = await valuesOf(api, engine, { model: new URL('/model.gguf', location).href, read, compute: { device }, without, took });
    await post({ ...row, milliseconds });
  } catch (error) {
    await post({ error: String(error) });
  }
</script>`;

// On SwiftShader, which plays a graphics card on the processor. Tokenizers run on the processor in every engine.
const LEFT_OUT = { digest: 'an hour on SwiftShader (`--whole`); `tests/outside/browser.py chromium` computes every 40th line' };

async function onCard() {
  const without = flags.whole ? [] : Object.keys(LEFT_OUT);
  const row = await browser('Chromium', 2, `&device=gpu${without.map((name) => `&without=${name}`).join('')}`);
  return flags.whole ? row : { ...row, why: LEFT_OUT };
}

async function browser(kind, threads, more = '') {
  const { names, words, card = [] } = BROWSERS[kind];
  const executable = installed(names);
  need(path.join(flags.module, 'loom.wasm'), 'build/wasm/bin/loom.wasm');
  const folder = mkdtempSync(path.join(tmpdir(), 'loom-row-'));
  writeFileSync(path.join(folder, 'row.html'), PAGE_OF_ROW);
  mkdirSync(path.join(folder, 'profile')); // Firefox asks for a folder that exists
  const server = await serve({
    '/row.html': path.join(folder, 'row.html'), '/js/': path.join(ROOT, 'js/'), '/rows/': path.join(ROOT, 'tools/digest_rows/'),
    '/module/': path.resolve(flags.module), '/model.gguf': MODEL, '/data/': DATA,
  });
  const running = spawn(executable, [...(more ? card : []), ...words(path.join(folder, 'profile'), `${server.origin}/row.html?threads=${threads}${more}`)], { stdio: 'ignore', detached: true });
  let timer;
  try {
    const row = await Promise.race([
      server.next(),
      new Promise((_, reject) => running.on('exit', (code) => reject(new Error(`${kind} ended with ${code} before it sent a row`)))),
      new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`${kind} sent no row in ${PATIENCE_MS} ms`)), PATIENCE_MS))),
    ]);
    if (row.error) throw new Error(row.error);
    return row;
  } finally {
    clearTimeout(timer);
    running.removeAllListeners('exit');
    const ended = new Promise((resolve) => running.on('exit', resolve));
    if (running.exitCode === null) {
      process.kill(-running.pid, 'SIGTERM');
      await ended;
    }
    server.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

const ROWS = [
  ['Native program', 1, () => program()],
  ['Node, native library', 1, () => node('native', 1)],
  ['Node, wasm32', 1, () => node('wasm', 1)],
  ['Node, wasm32', 2, () => node('wasm', 2)],
  ['Chromium, wasm32', 1, () => browser('Chromium', 1)],
  ['Chromium, wasm32', 2, () => browser('Chromium', 2)],
  ['Chromium, WebGPU on SwiftShader', 2, () => onCard()],
  ['Firefox, wasm32', 1, () => browser('Firefox', 1)],
  ['Firefox, wasm32', 2, () => browser('Firefox', 2)],
];

function valuesOfRows(rows) {
  const values = {}, faults = [];
  for (const column of Object.keys(COLUMNS)) {
    const seen = new Map();
    for (const { name, row } of rows) if (row[column]) seen.set(row[column], [...(seen.get(row[column]) ?? []), name]);
    values[column] = seen.keys().next().value ?? 'not run';
    if (seen.size > 1) faults.push(`${column} has ${seen.size} values: ${[...seen].map(([value, names]) => `${value} in ${names.join(', ')}`).join('; ')}`);
  }
  return { values, faults };
}

function table(rows, values) {
  const titles = Object.values(COLUMNS);
  const lines = [`| Engine | Threads | ${titles.join(' | ')} |`, `| ${Array(titles.length + 2).fill('---').join(' | ')} |`];
  for (const { title, threads, row } of rows) {
    const cells = Object.keys(COLUMNS).map((column) => {
      if (!row[column]) return row.why?.[column] ? `not run: ${row.why[column]}` : '';
      return row[column] === values[column] ? 'equal' : 'DIFFERS';
    });
    if (row.not_run) cells[0] = `not run: ${row.not_run}`;
    lines.push(`| ${title} | ${threads} | ${cells.join(' | ')} |`);
  }
  const meanings = Object.entries(COLUMNS).map(([column, title]) => `| ${title} | \`${values[column]}\` |`);
  return `${lines.join('\n')}\n\n| Column | Value that "equal" stands for |\n| --- | --- |\n${meanings.join('\n')}\n`;
}

/** Values that the page has, by title of the column. */
function published() {
  const part = readFileSync(PAGE, 'utf8').split(BEGIN)[1]?.split(END)[0] ?? '';
  return Object.fromEntries([...part.matchAll(/^\| ([^|]+) \| `([0-9a-f]{64})` \|$/gm)].map(([, title, value]) => [title, value]));
}

need(MODEL, `${MODEL}: tools/fetch_data.sh fetches it`);
const rows = [], failed = [];
for (const [title, threads, compute] of ROWS) {
  const name = `${title}, ${threads} thread${threads > 1 ? 's' : ''}`;
  if (!name.includes(flags.only)) continue;
  let row;
  try {
    row = await compute();
  } catch (error) {
    row = { not_run: error instanceof NotRun ? error.message : 'FAILED' };
    if (!(error instanceof NotRun)) failed.push(`${name}: ${error.stderr || error.message}`);
  }
  rows.push({ name, title, threads, row });
  console.error(`${name}: ${row.not_run ?? `computed ${row.milliseconds ? `in milliseconds ${JSON.stringify(row.milliseconds)}` : ''}`}`);
}
if (rows.length === 0) failed.push(`--only ${flags.only}: no row has this text; rows: ${ROWS.map(([title, threads]) => `${title}, ${threads}`).join('; ')}`);
const { values, faults } = valuesOfRows(rows);
const made = table(rows, values);
console.log(made);
failed.push(...faults);
if (flags.check) {
  const known = published();
  for (const [column, title] of Object.entries(COLUMNS)) {
    if (values[column] !== 'not run' && values[column] !== known[title]) failed.push(`${title}: computed ${values[column]}, docs/platforms.md has ${known[title] ?? 'none'}`);
  }
}
for (const line of failed) console.error(`web_table: ${line}`);
if (failed.length) process.exit(1);
if (flags.check && rows.every(({ row }) => row.not_run)) process.exit(77);
if (flags.write) {
  const text = readFileSync(PAGE, 'utf8');
  const [head] = text.split(BEGIN), tail = text.split(END)[1];
  writeFileSync(PAGE, `${head}${BEGIN}\n\n${made}\n${END}${tail}`);
}
