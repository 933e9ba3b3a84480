// Step meshes: networks that move in ticks, and learn between them.
import { mismatch } from '../errors.js';
import { decoded } from './library.js';
import { networkOf } from './network.js';
import { COMPUTE, computeOptions, mapping, read, real, truth, whole } from './options.js';
import { Owner } from './owner.js';
import { given, shapeOf, Tensor, viewed } from './tensors.js';
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
      return new StepMesh(library, handle, network, shape);
    });
  }

  constructor(library, handle, network, shape) {
    super(library, handle);
    this.network = network;
    this.shape = shape;
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
      const data = frame.array(given(outputGradient, 'outputGradient').data);
      const places = [frame.alloc(8), frame.alloc(8)];
      this.run('loom_step_mesh_backward', handlesOf(state)[0], data.pointer, data.count, BigInt(ticks), ...places);
      const values = viewed(this.library, 'f32', places);
      return values.length > 0 ? new Tensor(values, this.shape) : null;
    });
  }

  gradient(weight) {
    const { shape } = this.network.about(weight);
    const count = shape.reduce((product, extent) => product * extent, 1);
    return this.library.frame((frame) => {
      const room = frame.alloc(count * 4);
      this.run('loom_step_mesh_gradient', frame.text(weight), room, count);
      return new Tensor(this.core.view('f32', room, count).slice(), shape);
    });
  }

  clearGradients() {
    this.run('loom_step_mesh_clear_gradients');
  }

  /** Begins learning by targets; the config is that of docs/guide/tween.md. */
  tween(config, options) {
    const { ticks = 0 } = read(options, TICKS, 'tween()');
    return this.library.frame((frame) => {
      const data = frame.bytes(bytesOf(JSON.stringify(mapping(config ?? {}, 'config', 'an object')), 'config'));
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
      const data = frame.array(given(x, 'x').data);
      this.run('loom_step_state_set_input', data.pointer, data.count, Number(hold));
    });
  }

  clearInput() {
    this.run('loom_step_state_clear_input');
  }

  /** Output of a cell in the last tick, of the last cell by default; null if no data has reached it. */
  output(cell = -1) {
    return this.library.frame((frame) => {
      const places = Array.from({ length: 4 }, () => frame.alloc(8));
      const status = this.core.call(
        'loom_step_state_output',
        this.handle,
        BigInt(whole(cell, 'cell', -1, 2 ** 31 - 1)),
        ...places,
      );
      if (status === NO_VALUE) return null;
      this.library.check(status);
      return viewed(this.library, 'f32', places);
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
      const data = frame.array(given(targets, 'targets').data);
      this.run('loom_mesh_tween_step', pointer, count, data.pointer, data.count, real(learningRate, 'learningRate'));
    });
  }
}
