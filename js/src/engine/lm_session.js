// Sequences of tokens that a language model has read.
import { LoomError, mismatch } from '../errors.js';
import { answer } from './answer.js';
import {
  ANSWER,
  choice,
  generationOptions,
  jsonText,
  list,
  read,
  refuseTemplateOptions,
  truth,
  whole,
} from './options.js';
import { Owner } from './owner.js';
import { bytesOf } from './tokenizer.js';

const FORM_NUMBERS = { auto: 0, raw: 1, chat: 2 };
const MESSAGES = 3;
const PART = 64; // tokens that feed() reads at once: an abort is noticed between two parts

export const FORMS = (value, what) => choice(value, what, Object.keys(FORM_NUMBERS));
export const ADAPTERS = (value, what) => list(value, what, 'a list of numbers or names').map(String);
const GENERATE = { ...ANSWER, form: FORMS, receipt: truth };
const SEQUENCE = { sequence: (value, what) => whole(value, what, 0, 2 ** 40) };

/** A text or a conversation as bytes and the number of its form; null for token ids. */
export function encodedPrompt(prompt, form, options) {
  if (typeof prompt === 'string' || prompt instanceof Uint8Array) {
    if (form === 'raw') refuseTemplateOptions(options, 'form is "raw"');
    return { bytes: bytesOf(prompt, 'prompt'), form: FORM_NUMBERS[form] };
  }
  if (Array.isArray(prompt) && typeof prompt[0] === 'object' && prompt[0] !== null) {
    if (form === 'raw')
      throw new LoomError('InvalidArgument', 'form is "raw" with a list of messages: expected "chat" or "auto"');
    return { bytes: new TextEncoder().encode(jsonText(prompt, 'the prompt')), form: MESSAGES };
  }
  refuseTemplateOptions(options, 'a list of token ids passes none');
  return null;
}

export class LMSession extends Owner {
  static type = 'LMSession';

  constructor(model, handle) {
    super(model.library, handle);
    this.model = model;
  }

  /** Continues sequence 0 with a prompt and an answer: yields pieces of text and returns the Generation. */
  generate(prompt, options) {
    return this.written(prompt, read(options, GENERATE, 'generate()'));
  }

  /** Like generate(), with options that read() gave: what it gives is not always what it takes. */
  *written(prompt, { form = 'auto', receipt = false, ...rest }) {
    const handle = this.library.frame((frame) => {
      const values = generationOptions(frame, rest);
      const encoded = encodedPrompt(prompt, form, rest);
      if (encoded === null) {
        const { pointer, count } = frame.copied(this.ids(prompt));
        return this.make('loom_generator_create', pointer, count, values);
      }
      const { pointer, count } = frame.bytes(encoded.bytes);
      return this.make('loom_generator_from_text', pointer, count, encoded.form, values);
    });
    try {
      return yield* answer(this.library, handle, 'generator', { logprobs: rest.logprobs, receipt });
    } finally {
      this.library.release(handle);
    }
  }

  ids(prompt) {
    if (typeof prompt === 'string' || prompt instanceof Uint8Array) {
      this.tokenizer ??= this.model.tokenizer();
      return Int32Array.from(this.tokenizer.encode(prompt));
    }
    if (!Array.isArray(prompt) && !(prompt instanceof Int32Array))
      throw mismatch('prompt', 'a text, a list of messages or token ids', prompt);
    return Int32Array.from(prompt, (id) => whole(id, 'a token id', 0, 2 ** 31 - 1));
  }

  /** Appends tokens to a sequence and returns the logits that follow; an abort leaves the sequence as it was. */
  *feed(prompt, options) {
    const { sequence = 0 } = read(options, SEQUENCE, 'feed()');
    const ids = this.ids(prompt);
    const before = ids.length > PART ? this.tokens({ sequence }).length : 0;
    let logits;
    let whole = false;
    try {
      for (let at = 0; at < Math.max(1, ids.length); at += PART) {
        if (at > 0) yield {};
        logits = this.feedPart(sequence, ids.subarray(at, at + PART));
      }
      whole = true;
    } finally {
      if (!whole && ids.length > PART && !this.isDisposed) this.rewind(before, { sequence });
    }
    return logits;
  }

  feedPart(sequence, ids) {
    return this.library.frame((frame) => {
      const { pointer, count } = frame.copied(ids);
      const [data, size] = [frame.alloc(8), frame.alloc(8)];
      this.run('loom_session_feed', BigInt(sequence), pointer, count, 0n, data, size);
      return this.core.view('f32', this.library.pointerAt(data), this.library.sizeAt(size)).slice();
    });
  }

  /** The logits that feed() would return; the sequence stays as it was. */
  *logits(prompt, options) {
    const { sequence = 0 } = read(options, SEQUENCE, 'logits()');
    const length = this.tokens({ sequence }).length;
    const out = yield* this.feed(prompt, { sequence });
    this.rewind(length, { sequence });
    return out;
  }

  tokens(options) {
    const { sequence = 0 } = read(options, SEQUENCE, 'tokens()');
    return this.library.frame((frame) => {
      const [data, size] = [frame.alloc(8), frame.alloc(8)];
      this.run('loom_session_tokens', BigInt(sequence), data, size);
      return Array.from(this.core.view('i32', this.library.pointerAt(data), this.library.sizeAt(size)));
    });
  }

  rewind(length, options) {
    const { sequence = 0 } = read(options, SEQUENCE, 'rewind()');
    this.run('loom_session_rewind', BigInt(sequence), BigInt(whole(length, 'length', 0, 2 ** 40)));
  }

  fork(source, target) {
    this.run(
      'loom_session_fork',
      BigInt(whole(source, 'source', 0, 2 ** 40)),
      BigInt(whole(target, 'target', 0, 2 ** 40)),
    );
  }

  snapshot(options) {
    const { sequence = 0 } = read(options, SEQUENCE, 'snapshot()');
    return this.blob('loom_session_snapshot', BigInt(sequence));
  }

  restore(snapshot, options) {
    const { sequence = 0 } = read(options, SEQUENCE, 'restore()');
    this.library.frame((frame) => {
      const { pointer, count } = frame.bytes(bytesOf(snapshot, 'snapshot'));
      this.run('loom_session_restore', BigInt(sequence), pointer, count);
    });
  }

  chooseAdapters(adapters) {
    const names = adapters === null || adapters === undefined ? [] : ADAPTERS(adapters, 'adapters');
    this.library.frame((frame) => {
      const { pointer, count } = frame.texts(names);
      this.run('loom_session_choose_adapters', pointer, count, adapters === null || adapters === undefined ? 1 : 0);
    });
  }

  perplexity(value, { window = 512, maxWindows = 0 } = {}) {
    return this.library.frame((frame) => {
      const { pointer, count } = frame.bytes(bytesOf(value, 'text'));
      return this.library.cancellable((cancel) =>
        this.json('loom_session_perplexity', pointer, count, BigInt(window), BigInt(maxWindows), cancel),
      );
    });
  }

  info() {
    return this.json('loom_session_info');
  }
}
