// The thread of the module: a WASI program with the little of a system that it needs, and the driver of graphics cards.
import { GpuImports } from '../../js/src/abi/loom_gpu.js';

const BAD_DESCRIPTOR = 8, NOT_THERE = 52; // errors of WASI

class Ended extends Error {
  constructor(code) {
    super(`the program ended with ${code}`);
    this.code = code;
  }
}

// Arguments, a clock and what is printed; every other call is answered by an error.
function wasi(args, memory, print) {
  const view = () => new DataView(memory().buffer);
  const bytes = args.map((argument) => new TextEncoder().encode(argument + '\0'));
  const decoder = new TextDecoder();
  const known = {
    args_sizes_get(count, size) {
      view().setUint32(count >>> 0, bytes.length, true);
      view().setUint32(size >>> 0, bytes.reduce((sum, b) => sum + b.length, 0), true);
      return 0;
    },
    args_get(pointers, at) {
      bytes.forEach((argument, i) => {
        view().setUint32((pointers >>> 0) + 4 * i, at, true);
        new Uint8Array(memory().buffer).set(argument, at >>> 0);
        at += argument.length;
      });
      return 0;
    },
    environ_sizes_get: (count, size) => (view().setUint32(count >>> 0, 0, true), view().setUint32(size >>> 0, 0, true), 0),
    environ_get: () => 0,
    clock_time_get: (_, __, to) => (view().setBigUint64(to >>> 0, BigInt(Math.round(performance.now() * 1e6)), true), 0),
    random_get: (to, size) => (crypto.getRandomValues(new Uint8Array(memory().buffer, to >>> 0, size)), 0),
    fd_prestat_get: () => BAD_DESCRIPTOR,
    fd_fdstat_get(descriptor, to) {
      if (descriptor > 2) return BAD_DESCRIPTOR;
      new Uint8Array(memory().buffer, to >>> 0, 24).fill(0);
      view().setUint8(to >>> 0, 2); // a terminal
      view().setBigUint64((to >>> 0) + 8, 64n, true); // that may be written
      return 0;
    },
    fd_write(descriptor, pieces, count, written) {
      let size = 0;
      for (let i = 0; i < count; ++i) {
        const at = view().getUint32((pieces >>> 0) + 8 * i, true), length = view().getUint32((pieces >>> 0) + 8 * i + 4, true);
        print(decoder.decode(new Uint8Array(memory().buffer, at, length), { stream: true }));
        size += length;
      }
      view().setUint32(written >>> 0, size, true);
      return 0;
    },
    proc_exit(code) {
      throw new Ended(code);
    },
  };
  return new Proxy(known, { get: (of, name) => of[name] ?? (() => NOT_THERE) });
}

async function run({ opened, program, args }) {
  let instance = null;
  const memory = () => instance.exports.memory;
  const gpu = new GpuImports(opened, (calls, transfer) => self.postMessage({ calls }, transfer), memory);
  const system = wasi(['loom', ...args], memory, (text) => self.postMessage({ text }));
  const module = await WebAssembly.compileStreaming(fetch(program));
  instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: system, loom_gpu: gpu.imports });
  instance.exports._start();
}

self.onmessage = async ({ data }) => {
  try {
    await run(data);
  } catch (error) {
    if (!(error instanceof Ended && error.code === 0)) self.postMessage({ text: `FAIL  ${error}` });
  }
  self.postMessage({});
};
