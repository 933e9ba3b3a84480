// Starts the page: tabs, the engine, the service worker.
import { Chat } from './chat.js';
import { byId } from './dom.js';
import { Engine, usableThreads } from './engine.js';
import { nativeProgram } from './native.js';
import { clearNotice, startNotices, tell } from './notice.js';
import { startTabs } from './tabs.js';

function showMachine({ device, threads }) {
  const count = `${threads} ${threads === 1 ? 'thread' : 'threads'}`;
  const why = self.crossOriginIsolated ? '' : ', since this host does not isolate the page';
  byId('machine').textContent = `${device}, ${count}${why}`;
}

/**
 * Registers the service worker, which keeps the page for use without a network and adds the headers of isolation where
 * the host sends none. Reloads once for these headers.
 */
async function startOffline() {
  if (!navigator.serviceWorker) return;
  try {
    await navigator.serviceWorker.register('./sw.js');
    await navigator.serviceWorker.ready;
    if (self.crossOriginIsolated || sessionStorage.getItem('isolated')) return;
    sessionStorage.setItem('isolated', 'asked');
    location.reload();
  } catch {
    // Without it the page works, but not without a network.
  }
}

// Parts of the page that come with their tab.
const parts = {
  learn: async () => (await import('./learn.js')).startLearning(),
  graph: async () => (await import('./graph.js')).startGraphs(),
  creature: async () => (await import('./creature.js')).startCreature(),
};
const started = {};

/** Starts the part of a tab; until then the panel takes nothing, so that no file and no click is lost. */
async function startPart(name) {
  const panel = byId(`panel-${name}`);
  panel.inert = true;
  try {
    await parts[name]();
    panel.inert = false;
  } catch (error) {
    delete started[name]; // the next click tries again
    tell(error);
  }
}

async function main() {
  startNotices();
  if (typeof WebAssembly !== 'object') return tell('This browser has no WebAssembly, which the engine is made of.');
  startTabs((name) => {
    clearNotice();
    if (parts[name]) started[name] ??= startPart(name);
  });
  const threads = usableThreads();
  startOffline();
  const native = await nativeProgram();
  showMachine({ device: 'CPU', threads });
  await new Chat(new Engine(threads, undefined, '-lm'), native, showMachine).start();
  document.documentElement.dataset.ready = '';
}

main().catch(tell);
