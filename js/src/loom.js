// initLoom(): one model on the calling thread, as the first program of the specification has it.
import { describe } from './describe.js';
import { Engine, getPlatform, setDefaults } from './engine.js';
import { LoomError, mismatch } from './errors.js';

/** Starts an engine in a worker of its own. */
export async function createEngine(options = {}) {
  const engine = new Engine(options);
  await engine.started;
  return engine;
}

/**
 * Sets the options of the engine that all calls use which name none, and returns the object of the first program.
 * @param {object} [options] see index.d.ts
 */
export async function initLoom(options = {}) {
  return new Loom(setDefaults(options ?? {}, 'initLoom()'));
}

/**
 * One language model on the calling thread: Generate() returns when the answer is complete, so a page stands still
 * meanwhile. LM is the class for pages.
 */
export class Loom {
  #options;
  #library;
  #model;

  constructor(options) {
    this.#options = options;
    /** The last answer as a Generation: text, ids, hash, stopReason and figures. */
    this.last = undefined;
  }

  /** Loads a model in place of the one before: a path, a hub id, a URL, a Blob, bytes or files by name. */
  async LoadTransformer(source, options = {}) {
    const { onProgress, ...rest } = options;
    if (onProgress !== undefined && typeof onProgress !== 'function')
      throw mismatch('onProgress', 'a function', onProgress);
    const platform = getPlatform();
    const [side, { Library, opening }, { LM }, { described }] = await Promise.all([
      platform.engineSide(),
      import('./engine/library.js'),
      import('./engine/lm.js'),
      describe(source),
    ]);
    const started = { ...platform.startOptions(this.#options), onCallingThread: true };
    this.#library ??= new Library(await side.createCore(started));
    const opened = await side.open(described, 'LM.load', this.#library.core, started, refuseReader);
    try {
      const model = opening(opened, () => LM.open(this.#library, opened, rest, onProgress));
      this.#model?.dispose();
      this.#model = model;
    } finally {
      opened.close?.();
    }
  }

  /** Answers a prompt; returns the text. */
  Generate(prompt, maxTokens, options = {}) {
    if (this.#model === undefined) throw new LoomError('NotLoaded', 'no model is loaded: call LoadTransformer() first');
    const steps = this.#model.generate(prompt, { maxTokens, ...options });
    for (;;) {
      const { done, value } = steps.next();
      if (done) {
        this.last = value;
        return value.text;
      }
    }
  }

  dispose() {
    this.#model?.dispose();
    this.#model = undefined;
  }
}

function refuseReader() {
  throw new LoomError('Unsupported', 'LoadTransformer() takes no object that reads: give bytes, or use LM.load()');
}
