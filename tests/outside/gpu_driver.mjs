// js/src/abi/loom_gpu.js by itself: every call, right and wrong, without a module. Run by browser.py, in node with Dawn.
import assert from "node:assert/strict";
import { env, exit } from "node:process";
import { pathToFileURL } from "node:url";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { GpuHost, GpuImports } from "../../js/src/abi/loom_gpu.js";

const KERNEL = `
@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 16>;
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { b[id.x] = a[id.x] * words[0].x; }`;
const DISPATCH = 0, COPY = 1, CLEAR = 2;

// The calls of a module, whose memory is an array; texts and numbers are put into it.
class Module {
  constructor(opened) {
    this.memory = { buffer: new ArrayBuffer(1 << 20) };
    this.driver = new GpuImports(opened, (calls, transfer) => parentPort.postMessage(calls, transfer), () => this.memory);
    this.gpu = this.driver.imports;
    this.end = 8;
  }
  put(values) {
    const bytes = typeof values === "string" ? new TextEncoder().encode(values) : new Uint8Array(Uint32Array.from(values).buffer);
    const at = this.end;
    new Uint8Array(this.memory.buffer).set(bytes, at);
    this.end += (bytes.length + 11) & ~7;
    return [at, bytes.length];
  }
  message() {
    this.gpu.message(0x80000);
    return new TextDecoder().decode(new Uint8Array(this.memory.buffer, 0x80000, this.gpu.message_size()));
  }
  write = (id, offset, values) => this.gpu.write(id, offset, ...this.put(values));
  submit = (...words) => this.gpu.submit(this.put(words)[0], words.length);
  pipeline = (id, code, buffers, readOnly) => this.gpu.create_pipeline(id, ...this.put("test"), ...this.put(code), buffers, readOnly);
  // Null after an error.
  read(ticket, id, offset, count) {
    this.gpu.begin_read(ticket, id, offset, 4 * count);
    let state = 0;
    while ((state = this.gpu.poll(ticket, 0x90000, 4 * count, 1)) === 0);
    return state === 1 ? [...new Uint32Array(this.memory.buffer, 0x90000, count)] : null;
  }
}

function testCommands(m) {
  const { gpu } = m;
  assert.equal(gpu.open(), 1);
  assert.equal(m.message().split("\n").length, 5);
  assert(gpu.limit(0) >= 128 << 20 && gpu.limit(2) >= 8 && gpu.limit(4) >= 128);
  for (const [id, bytes, storage] of [[1, 256, 1], [2, 512, 0], [3, 256, 1]]) assert.equal(gpu.create_buffer(id, bytes, storage), 1);
  assert.deepEqual(m.read(100, 3, 0, 64), Array(64).fill(0));
  assert.equal(m.pipeline(4, KERNEL, 2, 1), 1);
  gpu.create_group(5, 4, 2, m.put([1, 3])[0], 2);
  const numbers = Array.from({ length: 64 }, (_, i) => i * 0x1000193);
  m.write(1, 0, numbers.map((n) => n >>> 0));
  m.write(2, 256, [7]);
  m.submit(DISPATCH, 4, 5, 256, 1, 1);
  const product = numbers.map((n) => Math.imul(n, 7) >>> 0);
  assert.deepEqual(m.read(101, 3, 0, 64), product);
  m.submit(CLEAR, 3, 2, 3, COPY, 1, 5, 3, 60, 2);
  const expected = product.map((n, i) => (i >= 2 && i < 5 ? 0 : i >= 60 && i < 62 ? numbers[i - 55] >>> 0 : n));
  assert.deepEqual(m.read(102, 3, 0, 64), expected);
  assert.deepEqual(m.read(103, 3, 8 * 4, 4), expected.slice(8, 12));
  for (const [ticket, id] of [[104, 1], [105, 3]]) gpu.begin_read(ticket, id, 4, 4); // two under way
  assert(gpu.poll(105, 0x90000, 4, 1) === 1 && gpu.poll(104, 0x90004, 4, 1) === 1);
  assert.deepEqual([...new Uint32Array(m.memory.buffer, 0x90000, 2)], [expected[1], numbers[1]]);
  assert.equal(gpu.check(), 1);
}

function testErrors(m) {
  const { gpu } = m;
  const told = (pattern) => (assert.equal(gpu.check(), 0), assert.match(m.message(), pattern), assert.equal(gpu.check(), 1));
  assert.equal(gpu.create_buffer(9, 2 ** 50, 1), 0);
  assert.match(m.message(), /size/);
  assert.equal(m.pipeline(9, KERNEL.replace("words[0].x", "1u >> 2u & 3u"), 2, 1), 0);
  assert.match(m.message(), /parenthesis/);
  assert.equal(m.pipeline(9, KERNEL, 1, 0), 0); // a binding is missing
  assert.equal(m.pipeline(9, KERNEL.replace("fn main", "fn other"), 2, 1), 0);
  assert.equal(gpu.check(), 1); // the caller got the error
  m.submit(9);
  m.read(106, 1, 0, 1);
  told(/command 9/);
  m.read(107, 3, 256, 8); // after the end
  m.read(108, 3, 0, 1);
  told(/range|size/i);
  gpu.destroy_group(5);
  gpu.destroy_buffer(3);
  assert.equal(gpu.create_buffer(3, 256, 1), 1);
  assert.deepEqual(m.read(109, 3, 0, 1), [0]);
  assert.equal(gpu.check(), 1);
}

// The device goes while the module computes.
function testLoss(m) {
  const { gpu } = m;
  assert.equal(gpu.is_lost(), 0);
  parentPort.postMessage("lose");
  assert.equal(m.read(110, 1, 0, 1), null);
  assert.notEqual(m.message(), "");
  assert.equal(gpu.is_lost(), 1);
  assert.equal(gpu.create_buffer(10, 256, 1) && m.read(111, 10, 0, 1), null);
  gpu.close();
}

if (isMainThread) {
  const { create, globals } = await import(pathToFileURL(`${env.LOOM_NPM}/node_modules/webgpu/index.js`));
  Object.assign(globalThis, globals);
  assert.match((await GpuHost.open(undefined)).opened.problem, /no navigator.gpu/);
  globalThis.gpu = create([]); // Dawn ends with the last reference to it
  const host = await GpuHost.open(globalThis.gpu);
  if (host.opened.problem) {
    console.log(host.opened.problem);
    exit(1);
  }
  const worker = new Worker(new URL(import.meta.url), { workerData: host.opened });
  const said = { passed: () => (console.log("PASS"), exit(0)), lose: () => host.device.destroy() };
  worker.on("message", (calls) => (said[calls] ? said[calls]() : host.run(calls)));
  worker.on("error", (error) => (console.log(error), exit(1)));
} else {
  const module = new Module(workerData);
  testCommands(module);
  testErrors(module);
  testLoss(module);
  parentPort.postMessage("passed");
}
