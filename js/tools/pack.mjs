// Makes the npm package: node js/tools/pack.mjs OUT [--wasm FOLDER] [--native PLATFORM-ARCH=FILE ...]
// OUT/package has its files, OUT/*.tgz is what `npm pack` makes of them. esbuild is found by NODE_PATH or where
// tools/npm_packages.sh package installs it.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const JS = fileURLToPath(new URL('..', import.meta.url));
const ROOT = resolve(JS, '..');
const PACKAGES = join(
  process.env.LOOM_NPM || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'loom/npm'),
  'package/package.json',
);
const USAGE = 'usage: pack.mjs OUT [--wasm FOLDER] [--native PLATFORM-ARCH=FILE ...]';

/** esbuild of NODE_PATH, or of the packages that tools/npm_packages.sh has installed. */
function loadEsbuild() {
  for (const from of [import.meta.url, PACKAGES]) {
    try {
      return createRequire(from)('esbuild');
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw new Error('the npm package esbuild is not installed: run tools/npm_packages.sh package');
}

/** Every module keeps its own place, from which it finds workers and modules. */
const places = {
  name: 'places',
  setup(build) {
    build.onLoad({ filter: /\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll(
        'import.meta.url',
        `placeOf(${JSON.stringify(relative(JS, path))})`,
      ),
    }));
  },
};

/** Bundles the package for require(). */
export async function bundleForRequire(to) {
  await loadEsbuild().build({
    entryPoints: [join(JS, 'src/node.js')],
    outfile: to,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external: ['koffi'],
    plugins: [places],
    logLevel: 'warning',
    banner: {
      js: "const { pathToFileURL } = require('node:url'), { join: joined } = require('node:path');\n" +
        "const placeOf = (path) => pathToFileURL(joined(__dirname, '..', path)).href;",
    },
  });
}

export async function pack(out, { wasm, native = [] } = {}) {
  const folder = join(out, 'package');
  if (wasm !== undefined && !existsSync(join(wasm, 'loom.wasm')))
    throw new Error(`${wasm} has no loom.wasm: expected the folder that ninja -C build/wasm loom_wasm_modules fills`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(join(folder, 'dist'), { recursive: true });
  for (const name of ['package.json', 'README.md', 'index.d.ts', 'src'])
    cpSync(join(JS, name), join(folder, name), { recursive: true });
  copyFileSync(join(JS, 'index.d.ts'), join(folder, 'index.d.cts'));
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  await bundleForRequire(join(folder, 'dist/index.cjs'));
  for (const name of ['loom', 'loom-threads', 'loom-lm', 'loom-lm-threads'].map((each) => `${each}.wasm`)) {
    if (wasm === undefined || !existsSync(join(wasm, name))) continue;
    mkdirSync(join(folder, 'wasm'), { recursive: true });
    copyFileSync(join(wasm, name), join(folder, 'wasm', name));
  }
  for (const each of native) {
    const [platform, file] = each.split('=');
    mkdirSync(join(folder, 'prebuilt', platform), { recursive: true });
    copyFileSync(file, join(folder, 'prebuilt', platform, basename(file)));
  }
  const [{ filename }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', out], { cwd: folder, encoding: 'utf8' }),
  );
  return { folder, file: join(out, filename) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { wasm: { type: 'string' }, native: { type: 'string', multiple: true }, help: { type: 'boolean' } },
    });
    if (values.help) {
      console.log(USAGE);
    } else {
      if (positionals.length !== 1) throw new Error(`expected one folder OUT; ${USAGE}`);
      console.log((await pack(resolve(positionals[0]), values)).file);
    }
  } catch (error) {
    console.error(`pack.mjs: ${error.message}`);
    process.exit(2);
  }
}
