// Workers on the shared memory of a module. Each runs thread.js, which works for the engine until close().
import { importedWorker, isOwn } from '../workers.js';
import { isNode, nodeModule } from './module.js';

const STACK_BYTES = 1 << 20; // as the module's own (cmake/wasm32.cmake)

function start(given) {
  const address = new URL('./thread.js', import.meta.url);
  if (isNode) {
    const worker = new (nodeModule('node:worker_threads').Worker)(address, { workerData: given });
    worker.unref();
    return {
      ready: new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject)),
      end: () => worker.terminate(),
    };
  }
  // Bundlers follow the first form, and take the name for that of a file.
  const worker = isOwn(import.meta.url) ? new Worker(new URL('./thread.js', import.meta.url), { type: 'module', name: 'loom-thread' })
    : importedWorker(address, 'loom-thread');
  worker.postMessage(given);
  return {
    ready: new Promise((resolve, reject) => {
      worker.onmessage = resolve;
      worker.onerror = (event) => reject(new Error(event.message ?? 'a worker could not start'));
    }),
    end: () => worker.terminate(),
  };
}

/** Starts `count` workers for an instance and returns a function that ends them. */
export async function startThreads(module, memory, exports, count) {
  exports.loom_js_expect(count);
  const workers = [];
  const align = Number(exports.__tls_align.value) || 1;
  for (let worker = 1; worker <= count; ++worker) {
    const stack = exports.loom_js_alloc(STACK_BYTES) >>> 0;
    const tls = exports.loom_js_alloc(Number(exports.__tls_size.value) + align) >>> 0;
    if (stack === 0 || tls === 0) throw new Error(`out of memory: no stack for worker ${worker} of ${count}`);
    const top = (stack + STACK_BYTES) & ~15;
    workers.push(start({ module, memory, worker, stack: top >>> 0, tls: (Math.ceil(tls / align) * align) >>> 0 }));
  }
  await Promise.all(workers.map(({ ready }) => ready));
  return () => {
    exports.loom_js_end();
    for (const worker of workers) worker.end();
  };
}
