// Runs a WASI program that computes on a graphics card under node:  node --no-warnings tools/run_wasm_gpu.mjs PROGRAM.wasm [ARGUMENT ...]
// The card is the one of the npm package webgpu (Dawn), in the folder that LOOM_NPM names (tools/npm_packages.sh).
import { readFile } from "node:fs/promises";
import { argv, env, exit } from "node:process";
import { pathToFileURL } from "node:url";
import { WASI } from "node:wasi";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { GpuHost, GpuImports } from "../js/src/abi/loom_gpu.js";

async function runHost() {
  const { create, globals } = await import(pathToFileURL(`${env.LOOM_NPM}/node_modules/webgpu/index.js`));
  Object.assign(globalThis, globals);
  globalThis.gpu = create([]); // Dawn ends with the last reference to it
  const host = await GpuHost.open(globalThis.gpu);
  const worker = new Worker(new URL(import.meta.url), { argv: argv.slice(2), workerData: host.opened });
  worker.on("message", (calls) => (typeof calls === "number" ? exit(calls) : host.run(calls)));
  worker.on("error", (error) => {
    console.error(error);
    exit(1);
  });
}

async function runModule() {
  const wasi = new WASI({ version: "preview1", args: argv.slice(2), preopens: {}, returnOnExit: true });
  let instance = null;
  const gpu = new GpuImports(workerData, (calls, transfer) => parentPort.postMessage(calls, transfer), () => instance.exports.memory);
  const module = await WebAssembly.compile(await readFile(argv[2]));
  instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport, loom_gpu: gpu.imports });
  parentPort.postMessage(wasi.start(instance));
}

await (isMainThread ? runHost() : runModule());
