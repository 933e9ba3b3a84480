// What the package exports; node.js and browser.js say how workers are started.
export {
  Chat,
  Encoder,
  Graph,
  LM,
  LMSession,
  MeshTween,
  Network,
  Session,
  StepMesh,
  StepState,
  Tokenizer,
  Trainer,
} from './api.js';
export { Engine } from './engine.js';
export { Tensor } from './engine/tensors.js';
export { LoomError } from './errors.js';
export { createEngine, initLoom, Loom } from './loom.js';
export { AnswerStream } from './stream.js';
