// Servers that the browser's tests run: `loom page`, and a host of static files that sends no header of isolation.
import { execFileSync, spawn } from 'node:child_process';
import { createReadStream, existsSync, statSync } from 'node:fs';
import http from 'node:http';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

/** A program or package that this machine does not have. */
export class Missing extends Error {}

/** Path of the first of these programs. */
export function tool(...names) {
  for (const name of names) {
    try {
      return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    } catch {
      // the next one
    }
  }
  throw new Missing(`none of ${names.join(', ')} is installed`);
}

const cache = process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache');

/** A file of tools/fetch_data.sh. */
export function dataFile(name) {
  const file = path.join(process.env.LOOM_DATA || path.join(homedir(), '.cache/loom/data'), name);
  if (!existsSync(file))
    throw new Error(`${file} is missing: tools/fetch_data.sh fetches it, LOOM_DATA names another folder`);
  return file;
}

/** The model of README. */
export const readmeModel = () => dataFile('llm/SmolLM2-135M-Instruct.Q4_1.gguf');

/** Folder of the npm packages of tests. */
export function npmFolder() {
  const folder = path.join(process.env.LOOM_NPM || path.join(cache, 'loom/npm'), 'page');
  for (const name of ['playwright-core', 'axe-core', 'puppeteer-core']) {
    if (!existsSync(path.join(folder, 'node_modules', name))) {
      throw new Missing(`${folder} has no npm package ${name}: tools/npm_packages.sh page installs it`);
    }
  }
  return folder;
}

/** A running `loom page`. */
export class Program {
  static start(program, args) {
    const running = spawn(program, ['page', ...args, '--port', '0'], { stdio: ['ignore', 'pipe', 'pipe'] });
    return new Promise((resolve, reject) => {
      let said = '';
      running.stderr.on('data', (text) => (said += text));
      running.stdout.on('data', (text) => {
        const url = /^http:\S+/m.exec(text)?.[0];
        if (url) resolve(Object.assign(new Program(), { running, url }));
      });
      running.on('exit', () => reject(said.includes('is missing in') ? new Missing(said.trim()) : new Error(said)));
    });
  }

  async stop() {
    if (this.running.exitCode !== null) return;
    const ended = new Promise((resolve) => this.running.once('exit', resolve));
    this.running.kill('SIGTERM');
    await ended;
  }
}

const TYPES = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
};

/** A host that sends files and no header of isolation, as many free hosts of static files do. */
export class StaticServer {
  static start(root) {
    const server = http.createServer((request, response) => {
      let { pathname } = new URL(request.url, 'http://localhost');
      if (pathname.endsWith('/')) pathname += 'index.html';
      const file = path.join(root, path.normalize(pathname));
      if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end();
      response.writeHead(200, { 'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
      return createReadStream(file).pipe(response);
    });
    return new Promise((resolve) =>
      server.listen(0, '127.0.0.1', () => {
        const url = `http://127.0.0.1:${server.address().port}/`;
        resolve({ url, stop: () => (server.closeAllConnections(), new Promise((done) => server.close(done))) });
      }),
    );
  }
}
