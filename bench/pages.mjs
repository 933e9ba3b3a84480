// Pages of one browser for benchmarks: a server on this machine alone, and pages that say when they are ready.
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '..');
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json' };
const ISOLATED = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

/**
 * Serves `pages` (name: source of a module) as isolated pages, and `files` (prefix of the address: folder or file).
 * @returns {Promise<{base: string, close: () => void}>}
 */
export async function servePages({ pages, files }) {
  const fileOf = (address) => {
    for (const [prefix, place] of Object.entries(files)) {
      if (address === prefix) return place;
      if (prefix.endsWith('/') && address.startsWith(prefix)) return path.join(place, path.normalize('/' + address.slice(prefix.length)));
    }
    return undefined;
  };
  const server = http.createServer((request, response) => {
    const address = decodeURIComponent(request.url.split('?')[0]);
    const page = pages[address.slice(1)];
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
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { base: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** Starts Chromium by the playwright-core of the folder PEERS; with the folder of a profile it is a context. */
export async function launch(peers, profile) {
  const { chromium } = createRequire(path.join(path.resolve(peers), 'package.json'))('playwright-core');
  const options = { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] };
  return profile === undefined ? chromium.launch(options) : chromium.launchPersistentContext(profile, options);
}

/** Opens a page of servePages() and waits until its module has run. Requests to other machines are refused and reported. */
export async function openPage(browser, base, name) {
  const page = await browser.newPage();
  const said = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  await page.route('**', (route) => {
    const url = route.request().url();
    if (url.startsWith(base) || url.startsWith('blob:') || url.startsWith('data:')) return route.continue();
    said.push(`refused a request to ${url}`);
    return route.abort();
  });
  const begin = performance.now();
  await page.goto(`${base}/${name}`);
  try {
    await page.waitForFunction(() => window.ready, undefined, { timeout: 180000 });
  } catch {
    throw new Error(`${name} did not start: ${said.slice(0, 5).join('; ')}`);
  }
  return { page, loadSeconds: (performance.now() - begin) / 1000 };
}

/** The least, median and greatest of some numbers. */
export function spread(values) {
  const all = [...values].sort((a, b) => a - b);
  return { least: all[0], median: all[all.length >> 1], greatest: all.at(-1) };
}
