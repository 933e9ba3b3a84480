// Engine of the page: a worker with its own WebAssembly module. Calls are promises; the worker starts with the first
// one, and again after it was lost.
import { GpuHost } from '../js/src/abi/loom_gpu.js';
import { PageError } from './notice.js';

export class EngineError extends Error {
  constructor({ code, message }) {
    super(message);
    this.code = code;
  }
}

/** Threads that a page uses: all of a small processor, half of a larger one's, at most 8. One without isolation. */
export function usableThreads() {
  const asked = Number(new URLSearchParams(location.search).get('threads'));
  if (!self.crossOriginIsolated) return 1;
  const cores = navigator.hardwareConcurrency || 1;
  if (asked > 0) return Math.min(asked, 16);
  return cores < 4 ? cores : Math.min(8, Math.floor(cores / 2));
}

/** Whether this page can compute on a graphics card: WebGPU, and memory that is shared with the worker. */
export const hasGraphics = () => self.crossOriginIsolated && navigator.gpu !== undefined;

export class Engine {
  /**
   * @param {number} threads
   * @param {() => void} [onLost] called when a worker that ran has ended by itself
   * @param {''|'-lm'} [part] "-lm": the smaller module, of language models alone
   */
  constructor(threads, onLost = () => {}, part = '') {
    this.threads = threads;
    this.part = part;
    this.usesGraphics = false; // from the next start on
    this.onLost = onLost;
    this.waiting = new Map();
    this.last = 0;
  }

  get isRunning() {
    return this.worker !== undefined;
  }

  start() {
    const worker = new Worker(new URL('./worker/engine.js', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }) => this.take(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.lose(event.message || 'the worker ended');
    };
    worker.onmessageerror = () => this.lose('a message could not be read');
    this.worker = worker;
    const lock = `loom-engine-${crypto.randomUUID()}`;
    this.begin(worker, lock);
    this.watch(worker, lock);
  }

  /** Starts the module, with the graphics card of this thread where it is asked for. */
  async begin(worker, lock) {
    let card;
    try {
      card = this.usesGraphics ? await GpuHost.open(navigator.gpu) : undefined;
    } catch {
      // no card: opening a model on it says so
    }
    this.card = card;
    const { threads, part } = this;
    worker.postMessage({ id: 0, name: 'start', args: { threads, lock, card: card?.opened, part } });
  }

  /** Notices the end of a worker that says nothing: it holds a lock for as long as it lives. */
  async watch(worker, lock) {
    await this.call('isLocked').catch(() => {});
    await navigator.locks?.request(lock, () => {});
    if (this.worker === worker) this.lose('the worker ended');
  }

  take({ id, event, result, error, lost, calls }) {
    if (calls) return this.card.run(calls);
    const call = this.waiting.get(id);
    if (event !== undefined) return call?.onEvent?.(event);
    this.waiting.delete(id);
    if (error) call?.reject(new EngineError(error));
    else call?.resolve(result);
    if (lost) this.lose(error.message);
  }

  /** Ends the worker; calls that wait fail. */
  lose(why) {
    if (!this.worker) return;
    console.warn(`Loom's engine ended: ${why}`);
    this.stop();
    for (const { reject } of this.waiting.values()) reject(new EngineError({ code: 'EngineLost', message: why }));
    this.waiting.clear();
    this.onLost(why);
  }

  stop() {
    this.worker?.terminate();
    this.worker = undefined;
  }

  /** Calls an operation of worker/engine.js. */
  call(name, args = {}, onEvent) {
    if (!this.worker) this.start();
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, onEvent });
      try {
        this.worker.postMessage({ id, name, args });
      } catch (error) {
        this.waiting.delete(id);
        reject(new PageError(`The engine could not take the call: ${error.message}`));
      }
    });
  }

  /** Sends a message that has no answer, such as "cancel". */
  send(name) {
    this.worker?.postMessage({ id: -1, name });
  }
}
