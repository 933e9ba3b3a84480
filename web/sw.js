// Service worker: keeps the files of the page for use without a network, and adds the headers of isolation, which
// shared memory needs, where the host sends none. Files come from the network while it answers, so that a new version
// of the page is seen at once.

const CACHE = 'loom-page';
const FILES = [
  './',
  'style.css',
  'icon.svg',
  'manifest.webmanifest',
  ...[
    'chat',
    'conversations',
    'creature',
    'dom',
    'engine',
    'graph',
    'learn',
    'main',
    'media',
    'messages',
    'models',
    'native',
    'notice',
    'tabs',
    'tasks',
  ].map((name) => `app/${name}.js`),
  ...['creature', 'engine', 'graphs', 'keeper', 'learning', 'source', 'talk'].map((name) => `app/worker/${name}.js`),
  'js/src/errors.js',
  'js/src/workers.js',
  'js/src/abi/loom_abi.js',
  'js/src/abi/loom_gpu.js',
  ...[
    'answer',
    'chat',
    'graph',
    'library',
    'lm',
    'lm_session',
    'mesh',
    'network',
    'options',
    'owner',
    'tensors',
    'tokenizer',
    'trainer',
  ].map((name) => `js/src/engine/${name}.js`),
  ...['callbacks', 'core', 'module', 'sha256', 'system', 'thread', 'threads'].map((name) => `js/src/wasm/${name}.js`),
  'wasm/loom-lm-threads.wasm', // the modules of an isolated page, which this worker makes it
  'wasm/loom-threads.wasm',
  'wasm/creature.wasm',
];
const HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};
// Not files of the page: models are kept by the page itself, answers of the native program by nobody.
const ELSEWHERE = ['/native.json', '/native/answer', '/model/'];

self.addEventListener('install', (event) => {
  self.skipWaiting();
  event.waitUntil(
    caches.open(CACHE).then((cache) => cache.addAll(FILES.map((file) => new Request(file, { cache: 'no-cache' })))),
  );
});

self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

function isolated(response) {
  if (response.type === 'opaque' || response.type === 'error') return response;
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
  const empty = [204, 205, 304].includes(response.status);
  return new Response(empty ? null : response.body, {
    status: response.status,
    statusText: response.statusText,
    headers,
  });
}

async function answer(event) {
  const { request } = event;
  try {
    const response = await fetch(request);
    if (response.status === 200) {
      const copy = response.clone();
      event.waitUntil(
        caches
          .open(CACHE)
          .then((cache) => cache.put(request, copy))
          .catch(() => {}),
      ); // no room: as before
    }
    return isolated(response);
  } catch (error) {
    const kept = await caches.match(request, { ignoreSearch: true });
    if (kept) return isolated(kept);
    throw error;
  }
}

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  const scope = new URL(self.registration.scope).pathname;
  const path = url.pathname.slice(scope.length - 1);
  if (request.method !== 'GET' || url.origin !== location.origin || ELSEWHERE.some((begin) => path.startsWith(begin)))
    return;
  event.respondWith(answer(event));
});
