// Functions that make objects, by name: the first calls that a worker takes.
import { Encoder } from './encoder.js';
import { Graph } from './graph.js';
import { decoded } from './library.js';
import { LM } from './lm.js';
import { StepMesh } from './mesh.js';
import { Network } from './network.js';
import { COMPUTE, computeOptions, read } from './options.js';
import { Trainer } from './trainer.js';
import { Tokenizer } from './tokenizer.js';

/** Functions of (library, source, ...args, progress) that read a source first. */
export const OPENS = {
  'LM.load': (library, source, options, progress) => LM.open(library, source, options, progress),
  'Tokenizer.load': (library, source, options) => {
    read(options, {}, 'Tokenizer.load()');
    return Tokenizer.open(library, source);
  },
  'Encoder.load': (library, source, options) => Encoder.open(library, source, options),
  'Graph.load': (library, source, options) => Graph.open(library, source, options),
  'Network.fromFile': (library, source, options) => Network.open(library, source, options),
};

/** Functions of (library, ...args). */
export const MAKES = {
  'Network.fromSpec': (library, spec, options) => Network.fromSpec(library, spec, options),
  'Network.fromArch': (library, config, options) => Network.fromArch(library, config, options),
  'Network.graft': (library, networks, options) => Network.graft(library, networks, options),
  'Trainer.create': (library, ...args) => Trainer.create(library, ...args),
  'StepMesh.create': (library, ...args) => StepMesh.create(library, ...args),
  'engine.info': (library) => ({
    kind: library.core.kind,
    threads: library.core.threads,
    version: library.core.text(library.core.call('loom_version')),
    system: library.json('loom_system_info'),
  }),
  'engine.gpuReport': (library) => library.json('loom_gpu_report'),
  'engine.verify': (library, options) =>
    library.frame((frame) =>
      decoded(library.blob('loom_verify', computeOptions(frame, read(options, COMPUTE, 'verify()')))),
    ),
};
