// Networks of any layers: made of a spec, read from a file, run, changed, drawn.
import { LoomError, mismatch } from '../errors.js';
import { decoded, fieldsOf } from './library.js';
import { COMPUTE, choice, computeOptions, jsonText, list, mapping, read, text, truth, whole } from './options.js';
import { Owner } from './owner.js';
import { extentsAt, given, shapeOf, Tensor, tensorAt, tensorStruct } from './tensors.js';
import { bytesOf } from './tokenizer.js';

const OPEN = { strict: truth };
const TO_BYTES = { format: (value, what) => choice(value, what, ['entity', 'json']), keepMaster: truth };
const SESSION = {
  ...COMPUTE,
  backward: truth,
  context: (value, what) => whole(value, what, 0, 2 ** 24),
  kvDtype: text,
  checkpointEvery: (value, what) => whole(value, what, 0, 2 ** 24),
};
const FORWARD = {
  training: truth,
  step: (value, what) => whole(value, what, 0, 2 ** 32 - 1),
  lengths: (value, what) => list(value, what, 'a list of whole numbers').map((each) => whole(each, what, 0, 2 ** 40)),
  external: (value) => value,
  mask: (value) => value,
};

/** JSON of a value; a text is JSON already. */
function jsonOf(value, what) {
  if (typeof value === 'string' || value instanceof Uint8Array) return bytesOf(value, what);
  return bytesOf(jsonText(mapping(value, what, 'an object or JSON text'), what), what);
}

export class Network extends Owner {
  static type = 'Network';

  static fromSpec(library, spec, options) {
    const { strict = true } = read(options, OPEN, 'Network.fromSpec()');
    return library.frame((frame) => {
      const { pointer, count } = frame.bytes(jsonOf(spec, 'spec'));
      return new Network(
        library,
        library.make('loom_network_from_json', pointer, count, frame.struct('network_options', { lenient: !strict })),
      );
    });
  }

  static fromArch(library, config, options) {
    read(options, {}, 'Network.fromArch()');
    return library.frame((frame) => {
      const { pointer, count } = frame.bytes(jsonOf(config, 'config'));
      return new Network(library, library.make('loom_network_from_arch', pointer, count));
    });
  }

  /** Reads an opened source: a path or bytes. */
  static open(library, source, options) {
    const { strict = true } = read(options, OPEN, 'Network.fromFile()');
    return library.frame((frame) => {
      const values = frame.struct('network_options', { lenient: !strict });
      if (source.path !== undefined)
        return new Network(library, library.make('loom_network_open', frame.text(source.path), values));
      const { pointer, count } = frame.bytes(source.bytes);
      return new Network(library, library.make('loom_network_from_memory', pointer, count, values));
    });
  }

  static graft(library, networks, options) {
    const { mode = 'concat', share = false } = read(options, { mode: text, share: truth }, 'Network.graft()');
    const handles = list(networks, 'networks', 'a list of networks').map((each) => each.handle);
    return library.frame((frame) => {
      const { pointer, count } = frame.copied(BigUint64Array.from(handles));
      return new Network(library, library.make('loom_network_graft', pointer, count, frame.text(mode), Number(share)));
    });
  }

  clone() {
    return new Network(this.library, this.make('loom_network_clone'));
  }

  toBytes(options) {
    const { format = 'entity', keepMaster = false } = read(options, TO_BYTES, 'toBytes()');
    return this.blob('loom_network_to_bytes', format === 'entity' ? 0 : 1, Number(keepMaster));
  }

  spec() {
    return this.json('loom_network_spec');
  }

  info() {
    return this.json('loom_network_info');
  }

  blueprint() {
    return this.json('loom_network_blueprint');
  }

  hash() {
    return decoded(this.blob('loom_network_hash'));
  }

  draw(title) {
    return this.library.frame((frame) => decoded(this.blob('loom_network_draw', frame.text(title || undefined))));
  }

  /** A list of the weights: name, layer, role, shape, dtype, frozen, master. */
  weights() {
    return this.json('loom_network_weights');
  }

  about(name) {
    const found = this.weights().find((weight) => weight.name === text(name, 'name'));
    if (found === undefined) throw new LoomError('NotFound', `the network has no weight ${JSON.stringify(name)}`);
    return found;
  }

  get(name) {
    const { shape, dtype } = this.about(name);
    const wide = dtype === 'float64';
    return filled(this, 'loom_network_get_weight', name, shape, wide);
  }

  set(name, values) {
    const { shape, dtype } = this.about(name);
    const wide = dtype === 'float64';
    const tensor = given(values, name, wide ? Float64Array : Float32Array);
    const isFlat = tensor.shape.length === 1 && tensor.shape[0] === product(shape);
    if (!isFlat && String(tensor.shape) !== String(shape)) {
      throw new LoomError('ShapeMismatch', `${name} has the shape [${shape}], the values [${tensor.shape}]`);
    }
    this.library.frame((frame) =>
      this.run(
        'loom_network_set_weight',
        frame.text(name),
        tensorStruct(frame, new Tensor(tensor.data, shape), wide ? 11 : 1),
      ),
    );
  }

  prepare(shape) {
    return this.library.frame((frame) => {
      const extents = frame.extents(shapeOf(shape, 'shape'));
      const [data, count] = [frame.alloc(8), frame.alloc(8)];
      this.run('loom_network_prepare', extents.pointer, extents.count, data, count);
      return extentsAt(this.library, this.library.pointerAt(data), this.library.sizeAt(count));
    });
  }

  place(address, layer) {
    this.library.frame((frame) => {
      const { pointer, count } = frame.extents(
        list(address, 'address', 'a list of 4 whole numbers, [z, y, x, l]').map((each) =>
          whole(each, 'address', 0, 2 ** 32 - 1),
        ),
      );
      const data = frame.bytes(layer === null || layer === undefined ? new Uint8Array(0) : jsonOf(layer, 'layer'));
      this.run('loom_network_place', pointer, count, data.pointer || this.library.null, data.count);
    });
  }

  morph(dtype, options) {
    const { path } = read(options, { path: text }, 'morph()');
    this.library.frame((frame) => this.run('loom_network_morph', frame.text(path), frame.text(text(dtype, 'dtype'))));
  }

  freeze(options) {
    const { path, frozen = true } = read(options, { path: text, frozen: truth }, 'freeze()');
    this.library.frame((frame) => this.run('loom_network_freeze', frame.text(path), Number(frozen)));
  }

  session(options) {
    const { backward, context, kvDtype, checkpointEvery, ...compute } = read(options, SESSION, 'session()');
    const handle = this.library.frame((frame) =>
      this.make(
        'loom_network_session_create',
        frame.struct('network_session_options', {
          compute: computeOptions(frame, compute),
          backward,
          context,
          kv_dtype: frame.text(kvDtype),
          checkpoint_every: checkpointEvery,
        }),
      ),
    );
    return new Session(this, handle);
  }

  /** Runs the network in a session of its own. */
  forward(x, options) {
    this.own ??= this.session();
    return this.own.forward(x, options);
  }

  dispose() {
    this.own?.dispose();
    super.dispose();
  }
}

const product = (extents) => extents.reduce((size, extent) => size * extent, 1);

/** A weight or a gradient, by a function that fills a tensor. */
export function filled(owner, name, weight, shape, wide) {
  const data = new (wide ? Float64Array : Float32Array)(product(shape));
  return owner.library.frame((frame) => {
    const room = frame.copied(data);
    const extents = frame.extents(shape);
    const to = frame.struct('tensor', {
      element: wide ? 11 : 1,
      data: room.pointer,
      data_size: data.byteLength,
      shape: extents.pointer,
      shape_count: extents.count,
    });
    owner.run(name, frame.text(weight), to);
    return new Tensor(owner.core.view(wide ? 'f64' : 'f32', room.pointer, data.length).slice(), shape);
  });
}

export class Session extends Owner {
  static type = 'Session';

  constructor(network, handle) {
    super(network.library, handle);
    this.network = network;
    this.isWide = network.info().element === 'f64';
  }

  get type() {
    return this.isWide ? Float64Array : Float32Array;
  }

  forward(x, options) {
    const more = read(options, FORWARD, 'forward()');
    const tensor = given(x, 'x', this.type);
    return this.library.frame((frame) => {
      const output = frame.struct('tensor');
      this.run(
        'loom_network_session_forward',
        tensorStruct(frame, tensor, this.isWide ? 11 : 1),
        this.pass(frame, more),
        output,
      );
      this.inputShape = tensor.shape;
      return tensorAt(this.library, fieldsOf(this.library, 'tensor', output));
    });
  }

  pass(frame, { training, step, lengths, external, mask }) {
    const values = { training, step };
    if (lengths !== undefined) {
      const { pointer, count } = frame.extents(lengths);
      Object.assign(values, { lengths: pointer, lengths_count: count });
    }
    if (external !== undefined)
      values.external = tensorStruct(frame, given(external, 'external', this.type), this.isWide ? 11 : 1);
    if (mask !== undefined) values.mask = tensorStruct(frame, given(mask, 'mask', this.type), this.isWide ? 11 : 1);
    return frame.struct('pass', values);
  }

  /**
   * Binds memory that both sides see, for inputs of a shape: run() reads and fills it without a copy.
   * @returns {{input: Tensor, output: Tensor}}
   */
  bind(shape) {
    const inputShape = shapeOf(shape, 'shape');
    const outputShape = this.network.prepare(inputShape);
    const [input, output] = [inputShape, outputShape].map(
      (each) => new Tensor(this.sharedNumbers(product(each)), each),
    );
    this.library.frame((frame) => {
      const element = this.isWide ? 11 : 1;
      const [x, y] = [input, output].map(({ data, shape: extents }) => {
        const places = frame.extents(extents);
        return frame.struct('tensor', {
          element,
          data: this.core.addressOf?.(data) ?? data.byteOffset,
          data_size: data.byteLength,
          shape: places.pointer,
          shape_count: places.count,
        });
      });
      this.run('loom_network_session_bind', x, y);
    });
    this.bound?.free();
    const { core } = this;
    // The library reads the memory until the session ends: it is kept, or freed, with it.
    const free = () =>
      core.addressOf === undefined ? [input, output].forEach(({ data }) => core.free(data.byteOffset)) : 0;
    this.bound = { input, output, free };
    return { input, output };
  }

  /** Zeros in memory that other threads see. */
  sharedNumbers(count) {
    const bytes = Math.max(8, count * this.type.BYTES_PER_ELEMENT);
    if (this.core.addressOf !== undefined) return new this.type(new SharedArrayBuffer(bytes), 0, count);
    const pointer = this.core.alloc(bytes);
    const view = this.core.view(this.isWide ? 'f64' : 'f32', pointer, count);
    if (view.buffer instanceof ArrayBuffer) {
      this.core.free(pointer);
      throw new LoomError(
        'Unsupported',
        'bind() needs shared memory: loom-threads.wasm on a page that is cross-origin isolated',
      );
    }
    return view.fill(0);
  }

  /** Runs the network from the bound input into the bound output. */
  runBound() {
    this.run('loom_network_session_run');
  }

  dispose() {
    super.dispose();
    this.bound?.free();
    this.bound = undefined;
  }

  backward(outputGradient) {
    const tensor = given(outputGradient, 'outputGradient', this.type);
    return this.library.frame((frame) => {
      const out = frame.struct('tensor');
      this.run('loom_network_session_backward', tensorStruct(frame, tensor, this.isWide ? 11 : 1), 0n, out);
      const gradient = tensorAt(this.library, fieldsOf(this.library, 'tensor', out));
      return new Tensor(gradient.data, this.inputShape);
    });
  }

  gradient(weight) {
    return filled(this, 'loom_network_session_gradient', weight, this.network.about(weight).shape, false);
  }

  clearGradients() {
    this.run('loom_network_session_clear_gradients');
  }

  reset() {
    this.run('loom_network_session_reset');
  }

  rewind(length) {
    this.run('loom_network_session_rewind', BigInt(whole(length, 'length', 0, 2 ** 40)));
  }

  snapshot() {
    return this.blob('loom_network_session_snapshot');
  }

  restore(snapshot) {
    this.library.frame((frame) => {
      const { pointer, count } = frame.bytes(bytesOf(snapshot, 'snapshot'));
      this.run('loom_network_session_restore', pointer, count);
    });
  }

  info() {
    return this.json('loom_network_session_info');
  }
}

/** A network among the arguments of a call. */
export function networkOf(value) {
  if (!(value instanceof Network)) throw mismatch('network', 'a Network', value);
  return value;
}
