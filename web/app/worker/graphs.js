// ONNX graphs: opened from bytes, run on one set of inputs or frame by frame with the states fed back.
import { LoomError } from '../../js/src/errors.js';
import { Graph } from '../../js/src/engine/graph.js';

const MOST_BYTES = 2 * 2 ** 30; // of the values of a run
const FRAMES_BETWEEN_BREATHS = 32;

export class Graphs {
  constructor(host) {
    this.host = host;
  }

  /** Opens an ONNX file and returns its inputs and outputs. */
  async graphOpen({ bytes, name }) {
    this.graphClose();
    this.graph = Graph.open(this.host.library, { bytes: new Uint8Array(bytes), name }, { maxBytes: MOST_BYTES });
    return this.graph.info();
  }

  /** Runs the graph on {name: {data, shape}} and returns such outputs. */
  async graphRun({ inputs }) {
    const outputs = this.graph.forward(inputs);
    return {
      outputs: Object.entries(outputs).map(([name, { data, shape }]) => ({ name, data, shape })),
      hash: this.hash(),
    };
  }

  /**
   * Runs the graph on frames of a sound, one after another; outputs of `states` ({input: output}) go into the next run.
   * Returns the first other output's last value for every frame. Events are the fraction that is done.
   */
  async graphStream({ frames, size, name, others, states }, onEvent) {
    const count = frames.length / size,
      values = new Float32Array(count);
    const back = Object.values(states);
    const shown = this.graph.info().outputs.find((output) => !back.includes(output.name)).name;
    let inputs = others;
    for (let i = 0; i < count; ++i) {
      const data = frames.subarray(i * size, (i + 1) * size);
      const outputs = this.graph.forward({ ...inputs, [name]: { data, shape: [1, size] } });
      values[i] = outputs[shown].data.at(-1);
      inputs = {
        ...inputs,
        ...Object.fromEntries(Object.entries(states).map(([input, output]) => [input, outputs[output]])),
      };
      if (i % FRAMES_BETWEEN_BREATHS !== 0) continue;
      onEvent(i / count);
      await this.host.breathe();
      if (this.host.isCancelled()) throw new LoomError('Cancelled', 'the run was stopped');
    }
    return { values, hash: this.hash() };
  }

  hash() {
    return this.host.library.text('loom_graph_session_hash', this.graph.session.handle);
  }

  graphClose() {
    this.graph?.dispose();
    this.graph = undefined;
  }
}
