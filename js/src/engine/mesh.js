// Step meshes: networks that move in ticks, and learn between them.
import { mismatch } from '../errors.js';
import { decoded, fieldsOf } from './library.js';
import { filled, networkOf } from './network.js';
import { COMPUTE, computeOptions, jsonText, mapping, read, real, truth, whole } from './options.js';
import { Owner } from './owner.js';
import { ELEMENT_NAMES, given, shapeOf, tensorAt, tensorStruct } from './tensors.js';
import { bytesOf } from './tokenizer.js';

const NO_VALUE = 27;
const MESH = {
  ...COMPUTE,
  history: (value, what) => whole(value, what, 0, 65536),
  backward: truth,
  keepInputs: truth,
};
const STEP = { ticks: (value, what) => whole(value, what, 1, 2 ** 40), capture: truth, training: truth };
const TICKS = { ticks: (value, what) => whole(value, what, 0, 65536) };

function handlesOf(states) {
  const several = Array.isArray(states) ? states : [states];
  for (const each of several)
    if (!(each instanceof StepState)) throw mismatch('states', 'a StepState or a list of them', each);
  return BigUint64Array.from(several, (each) => each.handle);
}

export class StepMesh extends Owner {
  static type = 'StepMesh';

  static create(library, network, shape, options) {
    const { history, backward, keepInputs, ...compute } = read(options, MESH, 'StepMesh.create()');
    return library.frame((frame) => {
      const extents = frame.extents(shapeOf(shape, 'shape'));
      const values = frame.struct('step_mesh_options', {
        compute: computeOptions(frame, compute),
        history,
        backward,
        keep_inputs: keepInputs,
      });
      const handle = library.make(
        'loom_step_mesh_create',
        networkOf(network).handle,
        extents.pointer,
        extents.count,
        values,
      );
      return new StepMesh(library, handle, network);
    });
  }

  constructor(library, handle, network) {
    super(library, handle);
    this.network = network;
    this.isWide = network.info().element === 'f64';
  }

  /** Typed array of the network's numbers. */
  get type() {
    return this.isWide ? Float64Array : Float32Array;
  }

  /** Its ONNX number. */
  get element() {
    return this.isWide ? ELEMENT_NAMES.float64 : ELEMENT_NAMES.float32;
  }

  state() {
    return new StepState(this, this.make('loom_step_state_create'));
  }

  step(states, options) {
    const given = read(options, STEP, 'step()');
    this.library.frame((frame) => {
      const { pointer, count } = frame.copied(handlesOf(states));
      this.run('loom_step_mesh_step', pointer, count, frame.struct('tick_options', given));
    });
  }

  /** Adds the gradients of captured ticks; the gradient of the newest tick's input, null where it had none. */
  backward(state, outputGradient, options) {
    const { ticks = 0 } = read(options, TICKS, 'backward()');
    return this.library.frame((frame) => {
      const dy = tensorStruct(frame, given(outputGradient, 'outputGradient', this.type), this.element);
      const dx = frame.struct('tensor');
      this.run('loom_step_mesh_backward', handlesOf(state)[0], dy, BigInt(ticks), dx);
      const fields = fieldsOf(this.library, 'tensor', dx);
      return fields.data_size > 0 ? tensorAt(this.library, fields) : null;
    });
  }

  gradient(weight) {
    const { shape } = this.network.about(weight);
    return filled(this, 'loom_step_mesh_gradient', weight, shape, this.isWide);
  }

  clearGradients() {
    this.run('loom_step_mesh_clear_gradients');
  }

  /** Begins learning by targets; the config is that of docs/guide/tween.md. */
  tween(config, options) {
    const { ticks = 0 } = read(options, TICKS, 'tween()');
    return this.library.frame((frame) => {
      const data = frame.bytes(bytesOf(jsonText(mapping(config ?? {}, 'config', 'an object'), 'config'), 'config'));
      return new MeshTween(this, this.make('loom_mesh_tween_create', data.pointer, data.count, BigInt(ticks)));
    });
  }

  info() {
    return this.json('loom_step_mesh_info');
  }
}

export class StepState extends Owner {
  static type = 'StepState';

  constructor(mesh, handle) {
    super(mesh.library, handle);
    this.mesh = mesh;
  }

  setInput(x, options) {
    const { hold = true } = read(options, { hold: truth }, 'setInput()');
    this.library.frame((frame) => {
      const { type, element } = this.mesh;
      this.run('loom_step_state_set_input', tensorStruct(frame, given(x, 'x', type), element), Number(hold));
    });
  }

  clearInput() {
    this.run('loom_step_state_clear_input');
  }

  /** Output of a cell in the last tick, of the last cell by default; null if no data has reached it. */
  output(cell = -1) {
    return this.library.frame((frame) => {
      const output = frame.struct('tensor');
      const place = BigInt(whole(cell, 'cell', -1, 2 ** 31 - 1));
      const status = this.core.call('loom_step_state_output', this.handle, place, output);
      if (status === NO_VALUE) return null;
      this.library.check(status);
      return tensorAt(this.library, fieldsOf(this.library, 'tensor', output));
    });
  }

  reset() {
    this.run('loom_step_state_reset');
  }

  fork() {
    return new StepState(this.mesh, this.make('loom_step_state_fork'));
  }

  snapshot() {
    return this.blob('loom_step_state_snapshot');
  }

  restore(snapshot) {
    this.library.frame((frame) => {
      const { pointer, count } = frame.bytes(bytesOf(snapshot, 'snapshot'));
      this.run('loom_step_state_restore', pointer, count);
    });
  }

  hash() {
    return decoded(this.blob('loom_step_state_hash'));
  }

  ticks() {
    return this.library.frame((frame) => {
      const out = frame.alloc(8);
      this.run('loom_step_state_ticks', out);
      return Number(this.core.view('u64', out, 1)[0]);
    });
  }
}

export class MeshTween extends Owner {
  static type = 'MeshTween';

  constructor(mesh, handle) {
    super(mesh.library, handle);
    this.mesh = mesh;
  }

  /** Moves all weights once towards targets of the last cell's outputs. */
  step(states, targets, learningRate) {
    this.library.frame((frame) => {
      const { pointer, count } = frame.copied(handlesOf(states));
      const { type, element } = this.mesh;
      const wanted = tensorStruct(frame, given(targets, 'targets', type), element);
      this.run('loom_mesh_tween_step', pointer, count, wanted, real(learningRate, 'learningRate'));
    });
  }
}
