// The driver of graphics cards for Loom in WebAssembly: src/backend/webgpu/driver.h over navigator.gpu.
//
// A module computes without a break, while WebGPU answers between tasks. So they live in two threads: the module in a
// worker, with GpuImports among its imports, and the device with GpuHost on the thread that started the worker. Calls
// are posted in lists; answers come back through shared memory, which the worker may sleep on. Pages that share memory
// are cross-origin isolated (docs/guide/gpu.md, "In a browser").

const SHARED_WORDS = 5; // answer, length of its message, error, length of its message, whether the device is lost
const MESSAGE_BYTES = 16384;
const ANSWER = 0, TOLD = 2, LOST = 4, DONE = 1, FAILED = 2; // places in the shared words, and states
const LIMITS = [
  'maxStorageBufferBindingSize', 'maxBufferSize', 'maxStorageBuffersPerShaderStage', 'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupsPerDimension',
];
const PARAMETER_BYTES = 256;
const LEAST_READ_BYTES = 4096;
const DISPATCH = 0, COPY = 1, CLEAR = 2; // commands
const STORAGE = 0x80, UNIFORM = 0x40, COPY_TO = 8, COPY_FROM = 4, MAP_READ = 1, COMPUTE = 4; // flags of WebGPU

/** Where the two threads meet. `at` is ANSWER or TOLD: a state, and a message beside it. */
class Meeting {
  constructor(memory) {
    this.memory = memory;
    this.words = new Int32Array(memory, 0, SHARED_WORDS);
  }
  static memory = () => new SharedArrayBuffer(4 * SHARED_WORDS + 2 * MESSAGE_BYTES);
  place = (at) => 4 * SHARED_WORDS + (at / 2) * MESSAGE_BYTES;
  put(at, state, message = '') {
    const bytes = new TextEncoder().encode(message).slice(0, MESSAGE_BYTES);
    new Uint8Array(this.memory, this.place(at)).set(bytes);
    this.words[at + 1] = bytes.length;
    Atomics.store(this.words, at, state);
    Atomics.notify(this.words, at);
  }
  /** The bytes of a message. */
  message(at) {
    return new Uint8Array(this.memory, this.place(at), this.words[at + 1]).slice();
  }
}

/** The side of the device. */
export class GpuHost {
  /** The adapter's description and limits are in `opened`, which the worker's GpuImports take. */
  static async open(gpu) {
    const memory = Meeting.memory();
    const adapter = await gpu?.requestAdapter({ powerPreference: 'high-performance' });
    if (!adapter) return new GpuHost(null, { memory, problem: gpu ? 'there is no graphics adapter' : 'there is no navigator.gpu' });
    const wanted = [...LIMITS, 'maxComputeWorkgroupSizeX'];
    const requiredLimits = Object.fromEntries(wanted.map((name) => [name, adapter.limits[name]]));
    const device = await adapter.requestDevice({ requiredLimits });
    const { vendor, architecture, device: name, description, isFallbackAdapter } = adapter.info ?? {};
    const full = description || [vendor, name || architecture].filter(Boolean).join(' ') || 'a graphics adapter';
    const lines = [full, architecture ?? '', 'WebGPU', isFallbackAdapter ? 'software' : 'unknown', ''];
    return new GpuHost(device, { memory, text: lines.join('\n'), limits: LIMITS.map((limit) => device.limits[limit]) });
  }

  constructor(device, opened) {
    this.device = device;
    this.opened = opened;
    this.meeting = new Meeting(opened.memory);
    this.items = new Map(); // buffers, pipelines, groups by number
    this.layouts = new Map();
    this.idle = []; // buffers of reads that have ended
    device?.lost.then(({ message }) => this.isClosed || this.lose('the device was lost: ' + message));
    device?.addEventListener?.('uncapturederror', ({ error }) => this.tell(error.message));
  }

  /** Does what the worker has posted, in order. */
  run(calls) {
    for (const [name, ...values] of calls) {
      const failed = (error) => {
        this.tell(String(error));
        if (name === 'createBuffer' || name === 'createPipeline') this.answer(String(error));
      };
      try {
        this[name](...values)?.catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  }

  // The first error that nobody has asked for yet.
  tell(message) {
    if (Atomics.load(this.meeting.words, TOLD) === 0) this.meeting.put(TOLD, FAILED, message);
  }
  lose(message) {
    this.isLost = true;
    Atomics.store(this.meeting.words, LOST, 1);
    this.tell(message);
  }
  answer = (error) => this.meeting.put(ANSWER, error ? FAILED : DONE, error || '');

  // Calls make() and returns what it did wrong, null if nothing.
  async problem(make, ...filters) {
    for (const filter of filters) this.device.pushErrorScope(filter);
    let thrown = null;
    try {
      make();
    } catch (error) {
      thrown = error;
    }
    const errors = await Promise.all(filters.map(() => this.device.popErrorScope()));
    return thrown ?? errors.find(Boolean) ?? null;
  }
  async createBuffer(id, size, storage) {
    const usage = COPY_TO | COPY_FROM | (storage ? STORAGE : UNIFORM);
    const make = () => this.items.set(id, this.device.createBuffer({ size, usage }));
    const error = await this.problem(make, 'out-of-memory', 'validation');
    if (error) this.items.delete(id);
    this.answer(error?.message);
  }
  destroyBuffer(id) {
    this.items.get(id).destroy();
    this.items.delete(id);
  }
  write = (id, offset, bytes) => this.device.queue.writeBuffer(this.items.get(id), offset, bytes);

  layout(buffers, readOnly) {
    const key = `${buffers} ${readOnly}`;
    if (!this.layouts.has(key)) {
      const type = (i) => (i === 0 ? 'uniform' : (readOnly >>> (i - 1)) & 1 ? 'read-only-storage' : 'storage');
      const entries = Array.from({ length: buffers + 1 }, (_, i) => (
        { binding: i, visibility: COMPUTE, buffer: { type: type(i), hasDynamicOffset: i === 0 } }));
      const group = this.device.createBindGroupLayout({ entries });
      this.layouts.set(key, { group, pipeline: this.device.createPipelineLayout({ bindGroupLayouts: [group] }) });
    }
    return this.layouts.get(key);
  }
  async createPipeline(id, label, code, buffers, readOnly) {
    const layout = this.layout(buffers, readOnly);
    let module;
    let error = await this.problem(() => (module = this.device.createShaderModule({ label, code })), 'validation');
    try {
      const compute = { module, entryPoint: 'main' };
      const pipeline = error ? null : await this.device.createComputePipelineAsync({ label, layout: layout.pipeline, compute });
      this.items.set(id, { pipeline, layout: layout.group });
    } catch (refusal) {
      error = refusal;
    }
    this.answer(error && String(error.message || error));
  }
  createGroup(id, pipeline, parameters, buffers) {
    const entries = [parameters, ...buffers].map((buffer, binding) => ({ binding, resource: { buffer: this.items.get(buffer) } }));
    entries[0].resource.size = PARAMETER_BYTES;
    this.items.set(id, this.device.createBindGroup({ layout: this.items.get(pipeline).layout, entries }));
  }
  destroyGroup = (id) => void this.items.delete(id);

  submit(words) {
    const encoder = this.device.createCommandEncoder();
    let pass = null, pipeline = 0;
    const at = (place) => this.items.get(words[place]);
    const endPass = () => void (pass?.end(), (pass = null));
    for (let i = 0; i < words.length; ) {
      const command = words[i++];
      if (command === DISPATCH) {
        if (!pass) (pass = encoder.beginComputePass()), (pipeline = 0);
        if (pipeline !== words[i]) pass.setPipeline(at(i).pipeline), (pipeline = words[i]);
        pass.setBindGroup(0, at(i + 1), [words[i + 2]]);
        pass.dispatchWorkgroups(words[i + 3], words[i + 4]);
        i += 5;
      } else if (command === COPY) {
        endPass();
        encoder.copyBufferToBuffer(at(i), 4 * words[i + 1], at(i + 2), 4 * words[i + 3], 4 * words[i + 4]);
        i += 5;
      } else if (command === CLEAR) {
        endPass();
        encoder.clearBuffer(at(i), 4 * words[i + 1], 4 * words[i + 2]);
        i += 3;
      } else {
        throw new Error(`the stream has a command ${command}`);
      }
    }
    endPass();
    this.device.queue.submit([encoder.finish()]);
  }

  // `shared` has a word of state, then the bytes.
  async beginRead(id, offset, bytes, shared) {
    const state = new Int32Array(shared, 0, 1);
    let end = FAILED;
    try {
      const known = this.idle.findIndex((buffer) => buffer.size >= bytes);
      const size = Math.max(bytes, LEAST_READ_BYTES);
      const buffer = known < 0 ? this.device.createBuffer({ size, usage: MAP_READ | COPY_TO }) : this.idle.splice(known, 1)[0];
      const encoder = this.device.createCommandEncoder();
      encoder.copyBufferToBuffer(this.items.get(id), offset, buffer, 0, bytes);
      this.device.queue.submit([encoder.finish()]);
      await buffer.mapAsync(1, 0, bytes);
      new Uint8Array(shared, 8, bytes).set(new Uint8Array(buffer.getMappedRange(0, bytes)));
      buffer.unmap();
      this.idle.push(buffer);
      end = DONE;
    } catch (error) {
      await Promise.race([this.device.lost, new Promise((later) => setTimeout(later, 50))]); // a loss is reported as one
      this.tell(String(error.message || error));
    }
    Atomics.store(state, 0, end);
    Atomics.notify(state, 0);
  }

  close() {
    this.isClosed = true;
    this.device?.destroy();
  }
}

/** The side of the module: `imports` is its import "loom_gpu". */
export class GpuImports {
  /** `opened` is GpuHost's, post(calls, transfer) sends a list to its run(), memory() gives the module's memory. */
  constructor(opened, post, memory) {
    this.opened = opened;
    this.post = post;
    this.memory = memory;
    this.meeting = new Meeting(opened.memory);
    this.calls = [];
    this.transfer = [];
    this.reads = new Map(); // shared memory by ticket
    this.idle = []; // shared memory of reads that have ended
    this.text = new Uint8Array(0); // what message() gives
    // Addresses beyond 2 GiB come as negative numbers.
    const u = (n) => n >>> 0;
    this.imports = {
      message_size: () => this.text.length,
      message: (to) => void this.bytes(u(to), this.text.length).set(this.text),
      open: () => this.open(),
      close: () => (this.add('close'), this.flush()),
      limit: (which) => this.opened.limits[which],
      create_buffer: (id, bytes, storage) => this.ask('createBuffer', id, bytes, storage),
      destroy_buffer: (id) => this.add('destroyBuffer', id),
      write: (id, offset, from, size) => this.add('write', id, offset, this.taken(u(from), u(size))),
      create_pipeline: (id, name, nameSize, wgsl, wgslSize, buffers, readOnly) =>
        this.ask('createPipeline', id, this.string(u(name), u(nameSize)), this.string(u(wgsl), u(wgslSize)), buffers, readOnly),
      create_group: (id, pipeline, parameters, buffers, count) =>
        this.add('createGroup', id, pipeline, parameters, new Uint32Array(this.taken(u(buffers), 4 * u(count)).buffer)),
      destroy_group: (id) => this.add('destroyGroup', id),
      submit: (words, count) => (this.add('submit', new Uint32Array(this.taken(u(words), 4 * u(count)).buffer)), this.flush()),
      begin_read: (ticket, buffer, offset, bytes) => this.beginRead(ticket, buffer, offset, u(bytes)),
      poll: (ticket, to, bytes, wait) => this.poll(ticket, u(to), u(bytes), wait),
      check: () => (this.take(TOLD) ? 0 : 1),
      is_lost: () => Atomics.load(this.meeting.words, LOST),
    };
  }

  bytes = (at, size) => new Uint8Array(this.memory().buffer, at, size);
  string = (at, size) => new TextDecoder().decode(this.bytes(at, size).slice());
  // A copy that goes to the other thread.
  taken(at, size) {
    const copy = this.bytes(at, size).slice();
    this.transfer.push(copy.buffer);
    return copy;
  }
  add(...call) {
    this.calls.push(call);
  }
  flush() {
    if (this.calls.length !== 0) this.post(this.calls, this.transfer);
    this.calls = [];
    this.transfer = [];
  }
  // Whether there was a state; its message is then the one to give.
  take(at) {
    const state = Atomics.load(this.meeting.words, at);
    if (state === 0) return 0;
    this.text = this.meeting.message(at);
    Atomics.store(this.meeting.words, at, 0);
    return state;
  }
  ask(...call) {
    this.add(...call);
    this.flush();
    Atomics.wait(this.meeting.words, ANSWER, 0);
    return this.take(ANSWER) === DONE ? 1 : 0;
  }

  open() {
    this.text = new TextEncoder().encode(this.opened.problem ?? this.opened.text);
    return this.opened.problem ? 0 : 1;
  }
  beginRead(ticket, buffer, offset, bytes) {
    const known = this.idle.findIndex((memory) => memory.byteLength >= 8 + bytes);
    const shared = known < 0 ? new SharedArrayBuffer(8 + Math.max(bytes, LEAST_READ_BYTES)) : this.idle.splice(known, 1)[0];
    Atomics.store(new Int32Array(shared, 0, 1), 0, 0);
    this.reads.set(ticket, shared);
    this.add('beginRead', buffer, offset, bytes, shared);
    this.flush();
  }
  poll(ticket, to, size, wait) {
    const shared = this.reads.get(ticket);
    const state = new Int32Array(shared, 0, 1);
    if (wait) Atomics.wait(state, 0, 0);
    const end = Atomics.load(state, 0);
    if (end === 0) return 0;
    this.reads.delete(ticket);
    if (end === DONE) this.bytes(to, size).set(new Uint8Array(shared, 8, size));
    else if (!this.take(TOLD)) this.text = new TextEncoder().encode('no reason was given');
    this.idle.push(shared);
    return end;
  }
}
