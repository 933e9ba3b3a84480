// The exports of the package; node.js and browser.js start the workers.
export {
  Chat,
  Encoder,
  Graph,
  LM,
  LMSession,
  MeshTween,
  Network,
  removeModel,
  Session,
  StepMesh,
  StepState,
  storedModels,
  storeModel,
  Tokenizer,
  Trainer,
} from './api.js';
export { Engine } from './engine.js';
export { Tensor } from './engine/tensors.js';
export { LoomError } from './errors.js';
export { createEngine, initLoom, Loom } from './loom.js';
export { AnswerStream } from './stream.js';
