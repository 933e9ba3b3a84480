// Runs every block of docs/guide/javascript.md: those of Node as one program, which must print the blocks "text" after
// them; those of a page in Chromium, where the packages of tools/npm_packages.sh bundlers are.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { ANSWER, DATA, engines, HASH, MODEL, ROOT, WASM } from './common.mjs';
import { serve } from './server.mjs';

const page = readFileSync(join(ROOT, 'docs/guide/javascript.md'), 'utf8');
const work = mkdtempSync(join(tmpdir(), 'welvet-'));
after(() => rmSync(work, { recursive: true, force: true }));

/** A folder with the models that the page names, where the package is installed. */
function place() {
  mkdirSync(join(work, 'node_modules/@openfluke'), { recursive: true });
  symlinkSync(join(ROOT, 'js'), join(work, 'node_modules/@openfluke/welvet'));
  symlinkSync(MODEL, join(work, 'SmolLM2-135M-Instruct.Q4_1.gguf'));
  symlinkSync(join(DATA, 'minilm'), join(work, 'minilm'));
  const snapshot = join(work, 'hf/hub/models--HuggingFaceTB--SmolLM2-360M-Instruct/snapshots/0');
  mkdirSync(snapshot, { recursive: true });
  symlinkSync(MODEL, join(snapshot, 'model.gguf')); // a smaller model under the id of the first program
}

test('every block of JavaScript runs and prints the text after it', { skip: engines().native.skip ?? false }, () => {
  place();
  const blocks = [...page.matchAll(/```js\n([^]*?)```(?:\n\n```text\n([^]*?)```)?/g)];
  assert.ok(blocks.length > 9);
  // A line before each block separates what the blocks print.
  const program = blocks.map(([, code], number) => `console.log('block ${number}');\n${code}`).join('');
  writeFileSync(join(work, 'guide.mjs'), program);
  const printed = execFileSync('node', ['guide.mjs'], {
    cwd: work,
    encoding: 'utf8',
    env: { ...process.env, HF_HOME: join(work, 'hf'), HF_HUB_CACHE: '' },
  });
  const parts = printed.split(/^block \d+\n/m).slice(1);
  assert.equal(parts.length, blocks.length);
  blocks.forEach(([, code, expected], number) => {
    if (expected !== undefined) assert.equal(parts[number], expected, code);
  });
  assert.ok(parts[0].length > 20, 'the first program prints its answer');
});

test('every block of a page runs, and the project examples/vite', { skip: skipPages() }, async () => {
  const require = createRequire(join(bundlers(), 'x.js'));
  const browser = await require('playwright-core').chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  const blocks = [...page.matchAll(/```html\n([^]*?)```/g)];
  assert.ok(blocks.length > 0);
  const site = join(work, 'site');
  mkdirSync(site);
  blocks.forEach(([, code], number) =>
    writeFileSync(join(site, `${number}.html`), `<!doctype html><title>x</title><body>${code}`),
  );
  const server = await serve({
    '/': `${site}/`,
    '/welvet': join(ROOT, 'js'),
    '/welvet/wasm': WASM,
    '/model.gguf': MODEL,
  });
  try {
    for (let number = 0; number < blocks.length; number++) {
      const tab = await browser.newPage();
      await tab.goto(`${server.origin}/${number}.html`);
      await tab.waitForFunction((answer) => document.body.textContent.trim() === answer, ANSWER, { timeout: 60000 });
      if (blocks[number][1].includes('document.title')) assert.equal(await tab.title(), '100 %');
      await tab.close();
    }
    await viteProject(require, browser);
  } finally {
    await browser.close();
    server.close();
  }
});

function bundlers() {
  return join(dirname(dirname(process.env.NODE_PATH)), 'bundlers/node_modules');
}

function skipPages() {
  if (!existsSync(join(bundlers(), 'playwright-core')))
    return 'tools/npm_packages.sh bundlers fetches what this test needs';
  if (!existsSync('/usr/bin/chromium')) return 'chromium is not installed';
  return existsSync(join(WASM, 'loom-threads.wasm')) ? false : `there is no ${WASM}/loom-threads.wasm`;
}

async function viteProject(require, browser) {
  const project = join(work, 'project');
  cpSync(join(ROOT, 'examples/vite'), project, { recursive: true });
  const installed = join(project, 'node_modules/@openfluke/welvet');
  cpSync(join(ROOT, 'js'), installed, { recursive: true, filter: (from) => !/js\/(wasm|test|tools)$/.test(from) });
  cpSync(WASM, join(installed, 'wasm'), {
    recursive: true,
    filter: (from) => from === WASM || /loom(-threads)?\.wasm$/.test(from),
  });
  const { build } = await import(require.resolve('vite'));
  await build({ root: project, logLevel: 'error' });
  const server = await serve({ '/': `${project}/dist/` });
  const tab = await browser.newPage();
  try {
    await tab.goto(`${server.origin}/index.html`);
    await tab.setInputFiles('#file', MODEL);
    await tab.waitForFunction(() => !document.querySelector('button').disabled, undefined, { timeout: 60000 });
    await tab.click('button');
    await tab.waitForFunction(() => document.getElementById('answer').title !== '', undefined, { timeout: 60000 });
    assert.equal(await tab.textContent('#answer'), ANSWER);
    assert.equal(await tab.getAttribute('#answer', 'title'), HASH);
  } finally {
    server.close();
  }
}
