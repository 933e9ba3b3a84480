// The package as users get it: what `npm pack` makes, its types, ESM and CommonJS, its size.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ANSWER, HASH, MODEL, QUESTION, ROOT, WASM } from './common.mjs';
import { pack } from '../tools/pack.mjs';

const PACKAGES = process.env.NODE_PATH;
const BIN = join(PACKAGES, '.bin');
const LIMIT = 40 * 1024; // bytes of JavaScript, minified and compressed
const wasm = existsSync(join(WASM, 'loom.wasm')) ? WASM : undefined;
const work = mkdtempSync(join(tmpdir(), 'welvet-'));
const made = await pack(join(work, 'pack'), { wasm });
after(() => rmSync(work, { recursive: true, force: true }));

/** A project that has installed the package, with koffi beside it. */
function project(name) {
  const folder = join(work, name);
  mkdirSync(join(folder, 'node_modules/@openfluke'), { recursive: true });
  cpSync(made.folder, join(folder, 'node_modules/@openfluke/welvet'), { recursive: true });
  for (const each of ['koffi', '@koromix', '@types'])
    symlinkSync(join(PACKAGES, each), join(folder, 'node_modules', each));
  writeFileSync(join(folder, 'package.json'), '{"private": true}');
  return folder;
}

test('pack.mjs without modules or esbuild says so in one line', () => {
  const run = (args, env) =>
    spawnSync(process.execPath, [join(ROOT, 'js/tools/pack.mjs'), ...args], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
  const out = join(work, 'other');
  const none = run([out, '--wasm', work]);
  assert.deepEqual([none.status, none.stderr.split('\n').length], [2, 2], none.stderr);
  assert.match(none.stderr, /^pack\.mjs: .* has no loom\.wasm: expected the folder/);
  const alone = run([out], { NODE_PATH: '', LOOM_NPM: work });
  assert.equal(alone.stderr, 'pack.mjs: the npm package esbuild is not installed: run tools/npm_packages.sh package\n');
  assert.match(run([]).stderr, /^pack\.mjs: expected one folder OUT; usage: /);
  assert.match(run(['--colour']).stderr, /^pack\.mjs: Unknown option '--colour'/);
});

test('publint and arethetypeswrong find nothing', () => {
  // Without modules (no build of the preset wasm) their pattern matches no file.
  const lint = spawnSync(join(BIN, 'publint'), ['run', made.folder, '--strict'], { encoding: 'utf8' });
  const said = lint.stdout
    .split('\n')
    .filter((line) => /^\d+\./.test(line) && !(/wasm/.test(line) && wasm === undefined));
  assert.deepEqual(said, []);
  const types = spawnSync(join(BIN, 'attw'), [made.file, '--format', 'table-flipped'], { encoding: 'utf8' });
  assert.equal(types.status, 0, types.stdout);
});

test('the package has no file of the tests, and every file that it names', () => {
  const files = readdirSync(made.folder, { recursive: true }).map((each) => each.replaceAll('\\', '/'));
  assert.deepEqual(
    files.filter((each) => /test|tools|\.mjs$/.test(each)),
    [],
  );
  for (const each of [
    'src/node.js',
    'src/browser.js',
    'src/worker.node.js',
    'dist/index.cjs',
    'index.d.ts',
    'index.d.cts',
    'LICENSE',
    'README.md',
  ]) {
    assert.ok(files.includes(each), each);
  }
});

for (const [kind, file, head] of [
  ['ESM', 'program.mjs', "import { initLoom, LM, LoomError } from '@openfluke/welvet';"],
  ['CommonJS', 'program.cjs', "const { initLoom, LM, LoomError } = require('@openfluke/welvet');"],
]) {
  test(
    `a project uses the package as ${kind}`,
    { skip: process.env.WELVET_LIBRARY ? false : 'WELVET_LIBRARY is not set' },
    () => {
      const folder = project(kind);
      writeFileSync(
        join(folder, file),
        `${head}
async function main() {
  const loom = await initLoom();
  await loom.LoadTransformer(${JSON.stringify(MODEL)});
  const result = loom.Generate(${JSON.stringify(QUESTION)}, 50);
  const lm = await LM.load(${JSON.stringify(MODEL)});
  const error = await lm.generate('x', { colour: 1 }).catch((each) => each);
  const { hash } = await lm.generate(${JSON.stringify(QUESTION)});
  console.log(JSON.stringify([result, hash, error instanceof LoomError, error.code]));
}
main();
`,
      );
      const out = execFileSync('node', [file], {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, NODE_PATH: '' },
      });
      assert.deepEqual(JSON.parse(out), [ANSWER, HASH, true, 'UnknownKey']);
    },
  );
}

test('types: strict TypeScript accepts what the guide does and refuses a wrong option', () => {
  const folder = project('types');
  cpSync(join(ROOT, 'js/test/types.ts'), join(folder, 'types.mts'));
  cpSync(join(ROOT, 'js/test/types.ts'), join(folder, 'types.cts'));
  const options = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--lib',
    'es2023,esnext.disposable,dom',
    '--types',
    'node',
  ];
  const checked = spawnSync(join(BIN, 'tsc'), [...options, 'types.mts', 'types.cts'], {
    cwd: folder,
    encoding: 'utf8',
  });
  assert.equal(checked.stdout + checked.stderr, '');
});

test('every class and method of the code has its type, and the reverse', async () => {
  const declared = readFileSync(join(ROOT, 'js/index.d.ts'), 'utf8');
  const code = await import('../src/node.js');
  for (const [name, value] of Object.entries(code)) {
    assert.match(declared, new RegExp(`export (class|function) ${name}\\b`), name);
    if (!/^class/.test(Function.prototype.toString.call(value))) continue;
    const block = new RegExp(`export class ${name}\\b[^]*?\\n}`).exec(declared)[0];
    const inherited = [
      'constructor',
      'reference',
      'invoke',
      'dispose',
      'call',
      'stop',
      'track',
      'untrack',
      'disposeObject',
    ];
    for (const method of Object.getOwnPropertyNames(value.prototype)) {
      if (!inherited.includes(method)) assert.match(block, new RegExp(`\\b${method}\\b`), `${name}.${method}`);
    }
    for (const [, method] of block.matchAll(/^ {2}(?:static )?(?:readonly )?(\w+)\(/gm)) {
      if (method !== 'constructor')
        assert.ok(method in value.prototype || method in value, `${name}.${method} is declared`);
    }
  }
});

test(
  `the JavaScript of a page has at most ${LIMIT / 1024} KB, minified and compressed`,
  { skip: existsSync(join(ROOT, 'js/src/wasm/core.js')) ? false : 'js/src/wasm is missing' },
  async () => {
    const esbuild = createRequire(import.meta.url)('esbuild');
    const { outputFiles } = await esbuild.build({
      entryPoints: ['browser.js', 'worker.browser.js', 'wasm/thread.js'].map((each) => join(ROOT, 'js/src', each)),
      outdir: join(work, 'size'),
      bundle: true,
      splitting: true,
      minify: true,
      format: 'esm',
      write: false,
      logLevel: 'silent',
    });
    const total = outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
    console.log(`JavaScript of a page: ${total} bytes`);
    assert.ok(total <= LIMIT, `${total} bytes`);
  },
);
