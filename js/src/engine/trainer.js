// Networks that learn, step by step, from batches of the caller.
import { LoomError } from '../errors.js';
import { decoded, fieldsOf } from './library.js';
import { networkOf } from './network.js';
import { COMPUTE, computeOptions, jsonText, mapping, read, real, whole } from './options.js';
import { Owner } from './owner.js';
import { ELEMENT_NAMES, given, shapeOf, tensorAt, tensorStruct } from './tensors.js';
import { bytesOf } from './tokenizer.js';

const BATCH = { classes: (value) => value };

export class Trainer extends Owner {
  static type = 'Trainer';

  /** The config is the JSON of docs/guide/training.md, whose keys the library checks. */
  static create(library, network, shape, config, options) {
    const compute = read(options, COMPUTE, 'Trainer.create()');
    return library.frame((frame) => {
      const data = frame.bytes(bytesOf(jsonText(mapping(config ?? {}, 'config', 'an object'), 'config'), 'config'));
      const extents = frame.extents(shapeOf(shape, 'shape'));
      const handle = library.make(
        'loom_trainer_create',
        networkOf(network).handle,
        data.pointer,
        data.count,
        extents.pointer,
        extents.count,
        computeOptions(frame, compute),
      );
      return new Trainer(library, handle, network);
    });
  }

  constructor(library, handle, network) {
    super(library, handle);
    this.network = network;
  }

  /** Learns from one batch. */
  step(inputs, targets, options) {
    return this.library.frame((frame) => {
      const out = frame.struct('training_step');
      const given = batch(frame, inputs, targets, read(options, BATCH, 'step()'));
      this.library.cancellable((cancel) => this.run('loom_trainer_step', given, cancel, out));
      const step = fieldsOf(this.library, 'training_step', out);
      const why = step.why_size > 0 ? decoded(this.core.view('u8', step.why, step.why_size)) : '';
      return {
        loss: step.loss,
        learningRate: step.learning_rate,
        gradientNorm: step.gradient_norm,
        skipped: step.skipped !== 0,
        why,
      };
    });
  }

  /** Runs the network on a batch without learning: the loss and the output. */
  evaluate(inputs, targets, options) {
    return this.library.frame((frame) => {
      const loss = frame.alloc(8);
      const output = frame.struct('tensor');
      this.run('loom_trainer_evaluate', batch(frame, inputs, targets, read(options, BATCH, 'evaluate()')), loss, output);
      return {
        loss: this.core.view('f64', loss, 1)[0],
        output: tensorAt(this.library, fieldsOf(this.library, 'tensor', output)),
      };
    });
  }

  setEpoch(epoch) {
    this.run('loom_trainer_set_epoch', BigInt(whole(epoch, 'epoch', 0, 2 ** 40)));
  }

  observe(metric) {
    this.run('loom_trainer_observe', real(metric, 'metric'));
  }

  info() {
    return this.json('loom_trainer_info');
  }
}

function batch(frame, inputs, targets, { classes }) {
  const has = targets !== undefined && targets !== null;
  if (has === (classes !== undefined))
    throw new LoomError('InvalidArgument', 'a batch has targets or classes: expected one of them');
  return frame.struct('batch', {
    inputs: tensorStruct(frame, given(inputs, 'inputs'), ELEMENT_NAMES.float32),
    targets: has
      ? tensorStruct(frame, given(targets, 'targets'), ELEMENT_NAMES.float32)
      : tensorStruct(frame, given(classes, 'classes', Int32Array), ELEMENT_NAMES.int32),
  });
}
