// A server of folders for pages of tests: ranges, types, isolation headers where they are asked for.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
};

/**
 * Serves folders by the beginnings of paths, {"/": folder, "/model.gguf": file}. `ranges`: "vite" takes the last byte 0
 * for the end of the file, as the servers of vite do; "none" sends files whole and a page where there is no file.
 * @returns {Promise<{origin: string, posts: object[], next(): Promise<object>, close(): void}>}
 */
export async function serve(folders, { isolated = true, crossOrigin = false, ranges = 'all' } = {}) {
  const waiting = [];
  const posts = [];
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
    const head = { 'Cross-Origin-Resource-Policy': 'cross-origin' };
    if (isolated)
      Object.assign(head, {
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Embedder-Policy': 'require-corp',
      });
    if (crossOrigin)
      Object.assign(head, { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'Content-Range' });
    if (request.method === 'POST') return void take(request, response, head);
    const base = Object.keys(folders)
      .filter((each) => path.startsWith(each))
      .sort((a, b) => b.length - a.length)[0];
    const file = base && join(folders[base], path.slice(base.length));
    if (!file || !existsSync(file) || statSync(file).isDirectory()) {
      if (ranges === 'all') return void response.writeHead(404, head).end();
      return void response.writeHead(200, { ...head, 'Content-Type': 'text/html' }).end('<!doctype html>');
    }
    send(request, response, file, head, ranges);
  });
  function take(request, response, head) {
    let text = '';
    request
      .on('data', (part) => (text += part))
      .on('end', () => {
        response.writeHead(204, head).end();
        const post = JSON.parse(text);
        posts.push(post);
        waiting.shift()?.(post);
      });
  }
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    posts,
    next: () => new Promise((resolve) => waiting.push(resolve)),
    close: () => server.closeAllConnections() ?? server.close(),
  };
}

function send(request, response, file, head, ranges) {
  const { size } = statSync(file);
  head['Content-Type'] = TYPES[extname(file)] ?? 'application/octet-stream';
  const range = ranges === 'none' ? null : /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  if (ranges === 'vite' && range?.[2] === '0') range[2] = '';
  const first = range ? Number(range[1]) : 0;
  const last = range && range[2] !== '' ? Math.min(Number(range[2]), size - 1) : size - 1;
  head['Content-Length'] = String(last - first + 1);
  if (range) head['Content-Range'] = `bytes ${first}-${last}/${size}`;
  response.writeHead(range ? 206 : 200, head);
  if (request.method === 'HEAD') response.end();
  else createReadStream(file, { start: first, end: last }).pipe(response);
}
