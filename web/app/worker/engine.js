// Worker that holds the engine: the classes of the package as they are inside its own worker, so that one message does
// all that a frame of the page shows. Messages are {id, name, args}; answers {id, result}, {id, error} or {id, event}.
import { Library } from '../../js/src/engine/library.js';
import { createWasmCore } from '../../js/src/wasm/core.js';
import { Graphs } from './graphs.js';
import { Learning } from './learning.js';
import { Talk } from './talk.js';

const state = { parts: [], cancelled: false };
// Calls may come before the engine starts.
state.ready = new Promise((resolve) => (state.begin = resolve));
state.ready.catch(() => {}); // reported by each call

async function start({ threads, lock, card, part }) {
  // Held until this worker ends, however it ends.
  await new Promise((held) =>
    navigator.locks ? navigator.locks.request(lock, () => (held(), new Promise(() => {}))) : held(),
  );
  // An isolated page shares memory, also for one thread, so that the browser keeps one module of each part.
  const shares = self.crossOriginIsolated ? '-threads' : '';
  const module = new URL(`../../wasm/loom${part}${shares}.wasm`, import.meta.url);
  const gpu = card && { opened: card, post: (calls, transfer) => self.postMessage({ calls }, transfer) };
  const core = await createWasmCore({ module, threads, gpu });
  const library = new Library(core);
  const host = { library, threads: core.threads, isCancelled: () => state.cancelled, breathe };
  state.parts = [new Talk(host), new Learning(host), new Graphs(host)];
  return { threads: core.threads };
}

const channel = new MessageChannel();
const breathing = [];
channel.port1.onmessage = () => breathing.shift()?.();

/** Lets messages in, so that a cancel arrives between two steps. */
function breathe() {
  return new Promise((resolve) => {
    breathing.push(resolve);
    channel.port2.postMessage(0);
  });
}

async function run(name, args, onEvent) {
  const started = await state.ready;
  if (name === 'about' || name === 'isLocked') return started;
  const part = state.parts.find((p) => name in p);
  if (!part) throw new Error(`the engine has no operation ${name}`);
  state.cancelled = false;
  return part[name](args, onEvent);
}

function plain(error) {
  const lost = error instanceof WebAssembly.RuntimeError || error.code === 'EngineLost';
  return { code: lost ? 'EngineLost' : (error.code ?? ''), message: String(error.message ?? error) };
}

let queue = Promise.resolve();
self.onmessage = ({ data: { id, name, args } }) => {
  if (name === 'cancel') {
    state.cancelled = true;
    return;
  }
  if (name === 'start') {
    state.begin(start(args));
    return;
  }
  queue = queue.then(async () => {
    try {
      const result = await run(name, args, (event) => self.postMessage({ id, event }));
      self.postMessage({ id, result });
    } catch (error) {
      const packed = plain(error);
      self.postMessage({ id, error: packed, lost: packed.code === 'EngineLost' });
    }
  });
};
