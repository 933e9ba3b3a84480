// The package on pages: as it stands, from another origin, and through vite, webpack, esbuild and Next.js, in Chromium and
// in Firefox. Needs tools/npm_packages.sh bundlers, chromium, and modules (LOOM_WASM); Next.js is built where
// tools/npm_packages.sh nextjs has installed it, and Firefox runs where it is installed.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ANSWER, HASH, MODEL, QUESTION, ROOT, WASM } from './common.mjs';
import { serve } from './server.mjs';

const require = createRequire(import.meta.url);
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((each) =>
  existsSync(each),
);
const wasm = WASM;
const skip =
  CHROMIUM === undefined
    ? 'chromium is not installed'
    : existsSync(join(wasm, 'loom-threads.wasm'))
      ? false
      : `there is no ${wasm}/loom-threads.wasm`;
const work = mkdtempSync(join(tmpdir(), 'welvet-'));
const installed = join(work, 'node_modules/@openfluke/welvet');
mkdirSync(installed, { recursive: true });
cpSync(join(ROOT, 'js'), installed, { recursive: true, filter: (from) => !/js\/(wasm|test|tools)$/.test(from) });
if (skip === false)
  cpSync(wasm, join(installed, 'wasm'), { recursive: true, filter: (from) => !from.endsWith('/src') });

const browser =
  skip === false
    ? await require('playwright-core').chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
    : undefined;
after(async () => {
  await browser?.close();
  rmSync(work, { recursive: true, force: true });
});

/** A page that answers the README's question: by a worker, or on its own thread. */
const PAGE = (from, options = '{}') => `
import { createEngine, initLoom, LM } from ${JSON.stringify(from)};
async function main() {
  const options = ${options};
  const engine = await createEngine(options);
  const lm = await LM.load('/model.gguf', { engine });
  let text = '';
  const stream = lm.stream(${JSON.stringify(QUESTION)});
  for await (const piece of stream) text += piece;
  const { hash } = await stream.result;
  engine.dispose();
  return { text, hash, kind: engine.kind, threads: engine.threads };
}
main().catch((error) => ({ error: String(error.stack ?? error), code: error.code })).then((found) => {
  globalThis.found = found;
  fetch('/found', { method: 'POST', body: JSON.stringify(found) }); // for a browser that is only started
});
`;
const HTML = (script) =>
  `<!doctype html><meta charset="utf-8"><title>test</title><script type="module" src="${script}"></script>`;

/** Modules without the driver of graphics cards have no import of it. */
function withoutCards() {
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(readFileSync(join(wasm, 'loom-threads.wasm'))));
  return imports.some(({ module }) => module === 'loom_gpu') ? false : 'the module has no driver of graphics cards';
}

/** Opens a page and returns what it found. */
async function visit(address, by = browser) {
  const page = await by.newPage();
  const said = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  try {
    await page.goto(address);
    const handle = await page
      .waitForFunction(() => globalThis.found, undefined, { timeout: 240000 })
      .catch((error) => {
        throw new Error(`${error.message}\n${said.join('\n')}`);
      });
    return await handle.jsonValue();
  } finally {
    await page.close();
  }
}

function check(found, threads) {
  assert.equal(found.error, undefined, found.error);
  assert.deepEqual([found.text, found.hash, found.kind], [ANSWER, HASH, 'wasm']);
  if (threads !== undefined) assert.equal(found.threads, threads);
}

/** Serves a folder with the model and visits its page. */
async function served(folder, options, more = {}, by = browser) {
  const server = await serve({ '/': `${folder}/`, '/model.gguf': MODEL, ...more }, options);
  try {
    return await visit(`${server.origin}/index.html`, by);
  } finally {
    server.close();
  }
}

const made = {}; // arguments of served() by the name of what built the page

/** Serves a page that a bundler has made, and keeps it for another browser. */
function built(name, folder, more) {
  made[name] = [folder, more];
  return served(folder, {}, more);
}

function site(name, script, html = HTML('./page.js')) {
  const folder = join(work, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'page.js'), script);
  writeFileSync(join(folder, 'index.html'), html);
  return folder;
}

test('a page without a bundler, isolated: two threads', { skip }, async () => {
  check(await served(site('plain', PAGE('/welvet/src/browser.js', '{ threads: 2 }')), {}, { '/welvet': installed }), 2);
});

test('a page without isolation: one thread', { skip }, async () => {
  check(
    await served(
      site('alone', PAGE('/welvet/src/browser.js', '{ threads: 2 }')),
      { isolated: false },
      { '/welvet': installed },
    ),
    1,
  );
});

for (const ranges of ['vite', 'none']) {
  test(`a model of a server with ranges "${ranges}"; a page in place of a file is named`, { skip }, async () => {
    const script = PAGE('/welvet/src/browser.js', '{ threads: 2 }').replace('  let text', () => `
  const refused = [];
  for (const address of ['/none.gguf', 'http://127.0.0.1:9/a.gguf'])
    refused.push(await LM.load(address, { engine }).catch(({ code, message }) => code + ' ' + message));
  let text`).replace('return { text', 'return { refused, text');
    const found = await served(site(`ranges-${ranges}`, script), { ranges }, { '/welvet': installed });
    check(found, 2);
    assert.match(found.refused[0], /^NotFound .*\/none\.gguf: the server answered with a page of HTML, expected a file$/);
    assert.match(found.refused[1], /^IoError http:\/\/127\.0\.0\.1:9\/a\.gguf: no server answers, or it does not allow/);
  });
}

test('a plain script tag', { skip }, async () => {
  const script = PAGE('/welvet/src/browser.js').replace(/^import (.*) from (.*);$/m, 'let loaded = import($2);');
  const body = script.replace('async function main() {', 'async function main() {\n  const { createEngine, LM } = await loaded;');
  const html = `<!doctype html><meta charset="utf-8"><title>test</title><script>${body}</script>`;
  check(await served(site('tag', '', html), {}, { '/welvet': installed }));
});

test('a script tag that imports from another origin', { skip }, async () => {
  const far = await serve({ '/': `${installed}/` }, { crossOrigin: true });
  try {
    check(await served(site('far', PAGE(`${far.origin}/src/browser.js`, '{ threads: 2 }'))));
  } finally {
    far.close();
  }
});

test('the first program on a page, on its own thread', { skip }, async () => {
  const script = `
import { initLoom } from '/welvet/src/browser.js';
const loom = await initLoom();
await loom.LoadTransformer('/model.gguf');
const result = loom.Generate(${JSON.stringify(QUESTION)}, 50);
globalThis.found = { text: result, hash: loom.last.hash, kind: 'wasm' };
`;
  check(await served(site('first', script), { isolated: false }, { '/welvet': installed }));
});

test('a hub id below baseUrl; without one, a line that says how to fetch it', { skip }, async () => {
  const script = PAGE('/welvet/src/browser.js', "{ baseUrl: '/models' }").replace("'/model.gguf'", "'someone/model'");
  check(await served(site('based', script), {}, { '/welvet': installed, '/models/someone/model.gguf': MODEL }));
  const lost = await served(
    site('unbased', script.replace("{ baseUrl: '/models' }", '{}')),
    {},
    { '/welvet': installed },
  );
  assert.equal(lost.code, 'NotFound', lost.error);
  assert.match(lost.error, /someone\/model is not among the files of this page .*hf download someone\/model/);
});

const CARD = (options) => `
import { createEngine, Network } from '/welvet/src/browser.js';
async function main() {
  const engine = await createEngine(${options});
  const { adapters } = await engine.gpuReport();
  const net = await Network.fromSpec({ seed: 5, layers: [
    { type: 'dense', input_height: 64, output_height: 96, activation: 'tanh' },
    { type: 'dense', input_height: 96, output_height: 32 }] }, { engine });
  const x = { data: Float32Array.from({ length: 256 }, (_, i) => Math.fround(((i * 37) % 101) / 64 - 0.75)), shape: [4, 64] };
  const outputs = [];
  for (const device of ['cpu', 'gpu']) {
    const session = await net.session({ device });
    outputs.push(Array.from(new Uint32Array((await session.forward(x)).data.buffer)));
  }
  engine.dispose();
  return { outputs, cards: adapters.length };
}
main().catch((error) => ({ error: String(error.stack ?? error) })).then((found) => { globalThis.found = found; });
`;

test(
  'the graphics card of a page (SwiftShader) gives the bits of the processor',
  { skip: skip || withoutCards() },
  async () => {
    const launched = await require('playwright-core').chromium.launch({
      executablePath: CHROMIUM,
      args: ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'],
    });
    try {
      const options = '{ threads: 2, gpu: true }';
      const found = await served(site('card', CARD(options)), {}, { '/welvet': installed }, launched);
      assert.equal(found.error, undefined, found.error);
      assert.equal(found.cards, 1);
      assert.equal(found.outputs[0].length, 128);
      assert.deepEqual(found.outputs[1], found.outputs[0]);
    } finally {
      await launched.close();
    }
  },
);

test('vite', { skip }, async () => {
  const folder = site('vite', PAGE('@openfluke/welvet', '{ threads: 2 }'));
  const { build } = await import(pathToFileURL(require.resolve('vite')).href);
  await build({ root: folder, logLevel: 'error', configFile: false, worker: { format: 'es' } });
  check(await built('vite', join(folder, 'dist')), 2);
});

test('webpack', { skip }, async () => {
  const folder = site('webpack', PAGE('@openfluke/welvet', '{ threads: 2 }'), HTML('./dist/main.js'));
  const webpack = require('webpack');
  const stats = await new Promise((resolve, reject) =>
    webpack(
      {
        mode: 'production',
        context: folder,
        entry: './page.js',
        output: { path: join(folder, 'dist'), publicPath: '/dist/' },
      },
      (error, result) => (error ? reject(error) : resolve(result)),
    ),
  );
  assert.equal(stats.hasErrors(), false, stats.toString());
  check(await built('webpack', folder), 2);
});

// Its packages have 300 MB, so they are a set of their own.
const nextFolder = join(dirname(require.resolve('playwright-core')), '../../../nextjs/node_modules');
const skipNext = skip || (existsSync(join(nextFolder, 'next')) ? false : 'tools/npm_packages.sh nextjs has not installed Next.js');

test('Next.js', { skip: skipNext }, async () => {
  const folder = join(work, 'nextjs');
  mkdirSync(join(folder, 'app'), { recursive: true });
  // Links to folders elsewhere lead out of a project, which its compiler refuses: files are linked one by one.
  execFileSync('cp', ['-al', nextFolder, join(folder, 'node_modules')]);
  mkdirSync(join(folder, 'node_modules/@openfluke'), { recursive: true });
  cpSync(installed, join(folder, 'node_modules/@openfluke/welvet'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"name": "page", "private": true}');
  writeFileSync(join(folder, 'next.config.mjs'), `export default { output: 'export', turbopack: { root: ${JSON.stringify(folder)} } };`);
  writeFileSync(
    join(folder, 'app/layout.js'),
    'export default function Layout({ children }) { return <html lang="en"><body>{children}</body></html>; }',
  );
  writeFileSync(
    join(folder, 'app/page.js'),
    "'use client';\nimport { useEffect } from 'react';\nexport default function Page() {\n" +
      "  useEffect(() => void import('./answer.js'), []);\n  return <p>test</p>;\n}\n",
  );
  writeFileSync(join(folder, 'app/answer.js'), PAGE('@openfluke/welvet', '{ threads: 2 }'));
  const next = join(folder, 'node_modules/next/dist/bin/next');
  execFileSync(process.execPath, [next, 'build'], {
    cwd: folder,
    stdio: 'pipe',
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NODE_PATH: '' },
  });
  check(await built('Next.js', join(folder, 'out')), 2);
});

test('esbuild', { skip }, async () => {
  const folder = site(
    'esbuild',
    PAGE(
      '@openfluke/welvet',
      "{ threads: 2, worker: '/dist/worker.browser.js', module: '/wasm/loom.wasm', threadsModule: '/wasm/loom-threads.wasm' }",
    ),
    HTML('./dist/page.js'),
  );
  await require('esbuild').build({
    entryPoints: [join(folder, 'page.js')],
    outdir: join(folder, 'dist'),
    bundle: true,
    splitting: true,
    format: 'esm',
    logLevel: 'error',
  });
  await require('esbuild').build({
    entryPoints: {
      'worker.browser': join(installed, 'src/worker.browser.js'),
      thread: join(installed, 'src/wasm/thread.js'),
    },
    outdir: join(folder, 'dist'),
    bundle: true,
    format: 'esm',
    logLevel: 'error',
  });
  check(await built('esbuild', folder, { '/wasm': join(installed, 'wasm') }));
});

test('a page keeps a model under its SHA-256, and opens it without a network', { skip }, async () => {
  const sha256 = createHash('sha256').update(readFileSync(MODEL)).digest('hex');
  const script = PAGE('/welvet/src/browser.js', '{ threads: 2 }')
    .replace('{ createEngine', '{ createEngine, removeModel, storedModels, storeModel')
    .replace("LM.load('/model.gguf'", "LM.load('someone/model'")
    .replace('  const lm =', () => `
  const store = (options) => storeModel('someone/model', '/model.gguf', { engine, ...options }).catch(({ code }) => code);
  const refused = [await store({ sha256: '${'0'.repeat(64)}' }), await store({ sha256: 'x' }), await store({ colour: 1 })];
  const controller = new AbortController();
  refused.push(await store({ signal: controller.signal, onProgress: () => controller.abort() }));
  refused.push(JSON.stringify(await storedModels()));
  let part = 0;
  const kept = [await store({ sha256: '${sha256}', onProgress: (fraction) => (part = fraction) })];
  kept.push(part, ...(await storedModels()));
  const lm =`)
    .replace('return { text', `
  await removeModel('someone/model');
  const files = [];
  const root = await navigator.storage.getDirectory();
  const folder = await (await root.getDirectoryHandle('welvet')).getDirectoryHandle('someone');
  for await (const name of folder.keys()) files.push(name);
  return { refused, kept, files, text`);
  const found = await served(site('kept', script), {}, { '/welvet': installed });
  check(found, 2);
  assert.deepEqual(found.refused, ['CorruptData', 'InvalidArgument', 'UnknownKey', 'Cancelled', '[]']);
  const about = { name: 'someone/model', size: statSync(MODEL).size, sha256 };
  assert.deepEqual(found.kept, [about, 1, about]);
  assert.deepEqual(found.files, []);
});

const FIREFOX = ['/usr/bin/firefox-esr', '/usr/bin/firefox'].find((each) => existsSync(each));

/** Starts Firefox on a page, which posts what it found. */
async function foundByFirefox(folder, more) {
  const server = await serve({ '/': `${folder}/`, '/model.gguf': MODEL, ...more });
  const profile = mkdtempSync(join(work, 'firefox-'));
  const found = server.next();
  const words = ['--headless', '--no-remote', '--profile', profile, `${server.origin}/index.html`];
  const running = spawn(FIREFOX, words, { stdio: 'ignore', detached: true });
  const ended = new Promise((resolve) => running.on('exit', resolve));
  const late = new Promise((_, reject) => setTimeout(reject, 240000, new Error('Firefox found nothing in 240 s')).unref());
  const early = ended.then((code) => Promise.reject(new Error(`Firefox ended with ${code}`)));
  early.catch(() => {});
  try {
    return await Promise.race([found, late, early]);
  } finally {
    if (running.exitCode === null) process.kill(-running.pid, 'SIGTERM');
    await ended;
    server.close();
  }
}

test('Firefox opens what bundlers have made', { skip: skip || (FIREFOX ? false : 'Firefox is not installed') }, async (t) => {
  made.none = [site('firefox', PAGE('/welvet/src/browser.js', '{ threads: 2 }')), { '/welvet': installed }];
  for (const [name, [folder, more]] of Object.entries(made))
    await t.test(name, async () => check(await foundByFirefox(folder, more), 2));
});
