// A worker of threads.js: instantiates the module on the shared memory and works for the engine.

function work({ module, memory, worker, stack, tls }, ready) {
  const refuse = (name) => () => {
    throw new Error(`${name} was called on a worker`);
  };
  const imports = { env: { memory } };
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (kind === 'function') (imports[from] ??= {})[name] = refuse(name);
  }
  imports.wasi_snapshot_preview1.clock_time_get = (clock, precision, to) => {
    const ms = clock === 0 ? Date.now() : performance.now();
    new DataView(memory.buffer).setBigUint64(to >>> 0, BigInt(Math.round(ms * 1e6)), true);
    return 0;
  };
  const { exports } = new WebAssembly.Instance(module, imports);
  exports.__stack_pointer.value = stack;
  exports.__wasm_init_tls(tls);
  ready();
  try {
    exports.loom_js_work(worker);
  } catch (error) {
    exports.loom_js_fail(); // the engine waits for this worker, and stops
    throw error;
  }
}

if (typeof process !== 'undefined' && process.versions?.node !== undefined) {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  work(workerData, () => parentPort.postMessage('ready'));
} else {
  self.onmessage = ({ data }) => work(data, () => self.postMessage('ready'));
}

export {};
