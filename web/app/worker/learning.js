// A small network on its grid, ticked as a step mesh, whose weights move between ticks.
import { StepMesh } from '../../js/src/engine/mesh.js';
import { Network } from '../../js/src/engine/network.js';
import { Trainer } from '../../js/src/engine/trainer.js';

const WIDTH = 16; // values that a hidden cell leaves

/** Spec of a chain of dense cells on a grid of two rows. */
function specOf(cells, seed) {
  const columns = cells / 2;
  const layers = Array.from({ length: cells }, (_, i) => ({
    z: 0,
    y: Math.floor(i / columns),
    x: i % columns,
    l: 0,
    type: 'dense',
    activation: 'tanh',
    bias: true,
    input_height: i === 0 ? 2 : WIDTH,
    output_height: i === cells - 1 ? 1 : WIDTH,
  }));
  return { seed, depth: 1, rows: 2, cols: columns, layers_per_cell: 1, input_shape: [2], layers };
}

export class Learning {
  constructor(host) {
    this.library = host.library;
    this.parts = [];
  }

  /**
   * Makes the network, ready to learn `points` by a rule.
   * @param {{cells: number, rule: 'gradients' | 'targets', rate: number, points: Float32Array,
   *   targets: Float32Array}} args
   */
  async learnCreate({ cells, rule, rate, points, targets }) {
    this.learnClose();
    const own = (part) => (this.parts.push(part), part);
    const shape = [targets.length, 2];
    Object.assign(this, { cells, rate, targets, inputs: { data: points, shape } });
    this.network = own(Network.fromSpec(this.library, specOf(cells, 7)));
    this.mesh = own(StepMesh.create(this.library, this.network, shape, { keepInputs: true, threads: 1 }));
    this.state = own(this.mesh.state());
    this.state.setInput(this.inputs);
    this.session = own(this.network.session({ threads: 1 }));
    this.trainer = this.tween = undefined;
    if (rule === 'gradients') {
      const config = { loss: 'mse', optimizer: { name: 'adam' }, learning_rate: rate };
      this.trainer = own(Trainer.create(this.library, this.network, shape, config, { threads: 1 }));
    } else {
      this.tween = own(this.mesh.tween({ mode: 'layerwise' }));
    }
    return { columns: cells / 2 };
  }

  /**
   * Runs ticks, each with one step of learning once data has reached the last cell.
   * @param {{ticks: number, places: Float32Array}} args places are pairs x, y to judge
   */
  async learnTick({ ticks, places }) {
    const errors = [];
    for (let i = 0; i < ticks; ++i) errors.push(this.tick());
    const last = this.state.output()?.data;
    return {
      tick: this.state.ticks(),
      errors: errors.filter((error) => error !== undefined),
      right:
        last &&
        last.reduce((sum, value, i) => sum + (value > 0 === this.targets[i] > 0 ? 1 : 0), 0) / this.targets.length,
      strengths: Array.from({ length: this.cells }, (_, cell) => strength(this.state.output(cell)?.data)),
      hash: this.network.hash(),
      judged: this.session.forward({ data: places, shape: [places.length / 2, 2] }).data,
    };
  }

  // Gives the mean squared error before the step; undefined while data is on its way.
  tick() {
    this.mesh.step(this.state);
    const last = this.state.output()?.data;
    if (last === undefined) return undefined;
    const error = last.reduce((sum, value, i) => sum + (value - this.targets[i]) ** 2, 0) / last.length;
    if (this.tween) this.tween.step(this.state, this.targets, this.rate);
    else this.trainer.step(this.inputs, this.targets);
    return error;
  }

  learnClose() {
    for (const part of this.parts.reverse()) part.dispose();
    this.parts = [];
  }
}

/** Mean magnitude of values. */
function strength(values) {
  if (!values) return undefined;
  return values.reduce((sum, value) => sum + Math.abs(value), 0) / values.length;
}
