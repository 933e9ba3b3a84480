// Language models: weights, tokenizer, chat template.
import { LoomError, mismatch } from '../errors.js';
import { Chat } from './chat.js';
import {
  ANSWER,
  COMPUTE,
  computeOptions,
  generationOptions,
  jsonText,
  list,
  read,
  text,
  truth,
  whole,
} from './options.js';
import { Owner } from './owner.js';
import { FORMS, LMSession, ADAPTERS, encodedPrompt } from './lm_session.js';
import { Tokenizer } from './tokenizer.js';

const CONTEXT = (value, what) => whole(value, what, 1, 2 ** 24);

export const LOAD = {
  ...COMPUTE,
  dtype: text,
  contextLength: CONTEXT,
  adapters: (value, what) => list(value, what, 'a list of folders').map((each) => text(each, what)),
};
const SESSION = {
  ...COMPUTE,
  adapters: ADAPTERS,
  sequences: (value, what) => whole(value, what, 1, 2 ** 31),
  contextLength: CONTEXT,
  kvDtype: text,
  int8Activations: truth,
};
const GENERATE = { ...ANSWER, form: FORMS, adapters: ADAPTERS, receipt: truth };
const PROMPT = { ...ANSWER, form: FORMS };
const CHAT = { ...ANSWER, system: text, adapters: ADAPTERS };
const PERPLEXITY = {
  window: (value, what) => whole(value, what, 1, 2 ** 24),
  maxWindows: (value, what) => whole(value, what, 1, 2 ** 40),
  adapters: ADAPTERS,
};

export class LM extends Owner {
  static type = 'LM';

  isModel = true;

  /**
   * Loads a model from an opened source.
   * @param {import('./library.js').Library} library
   * @param {{path?: string, bytes?: Uint8Array, files?: Record<string, Uint8Array>, reader?: object, name: string}}
   * source
   * @param {object} options see LOAD
   * @param {(fraction: number) => boolean} [progress] false cancels
   */
  static open(library, source, options, progress) {
    const given = read(options, LOAD, 'LM.load()');
    if (given.adapters?.length && source.path === undefined) {
      throw new LoomError('Unsupported', 'adapters are folders, which only the native library opens');
    }
    const tell = progress ?? (() => true);
    const handle = library.withCallback(
      'on_progress',
      (fraction) => (tell(fraction) === false ? 0 : 1),
      0,
      (callback) =>
        library.frame((frame) => {
          const names = given.adapters?.length ? frame.texts(given.adapters) : { pointer: library.null, count: 0 };
          const values = frame.struct('model_options', {
            compute: computeOptions(frame, { threads: given.threads }),
            dtype: frame.text(given.dtype),
            progress: callback.pointer,
            user: callback.user,
            adapters: names.pointer,
            adapters_count: names.count,
          });
          return load(library, frame, source, values);
        }),
    );
    return new LM(library, handle, source.name, given);
  }

  constructor(library, handle, name, { adapters: _, ...options }) {
    super(library, handle);
    this.name = name;
    this.options = options;
  }

  /** Answers a prompt: yields pieces of text and returns the Generation. */
  *generate(prompt, options) {
    const { adapters, ...rest } = read(options, GENERATE, 'generate()');
    const session = this.newSession({ adapters });
    try {
      return yield* session.written(prompt, rest);
    } finally {
      session.dispose();
    }
  }

  /** The tokens that generate() would read. */
  prompt(prompt, options) {
    const { form = 'auto', ...rest } = read(options, PROMPT, 'prompt()');
    const encoded = encodedPrompt(prompt, form, rest);
    if (encoded === null) throw mismatch('prompt', 'a text or a list of messages', prompt);
    return this.library.frame((frame) => {
      const { pointer, count } = frame.bytes(encoded.bytes);
      return this.json('loom_model_prompt', pointer, count, encoded.form, generationOptions(frame, rest));
    });
  }

  chat(options) {
    const { adapters, system, ...rest } = read(options, CHAT, 'chat()');
    const session = this.newSession({ adapters });
    return new Chat(this, session, system, rest, adapters);
  }

  session(options) {
    return this.newSession(read(options, SESSION, 'session()'));
  }

  newSession(given) {
    const { threads, isa, device, precision, contextLength } = { ...this.options, ...given };
    const handle = this.library.frame((frame) =>
      this.make(
        'loom_session_create',
        frame.struct('session_options', {
          compute: computeOptions(frame, { threads, isa, device, precision }),
          sequences: given.sequences,
          context_tokens: contextLength,
          kv_dtype: frame.text(given.kvDtype),
          int8_activations: given.int8Activations,
        }),
      ),
    );
    const session = new LMSession(this, handle);
    if (given.adapters !== undefined) session.chooseAdapters(given.adapters);
    return session;
  }

  /** Logits of the token that follows a prompt. */
  *logits(prompt, options) {
    const session = this.newSession(read(options, { adapters: ADAPTERS }, 'logits()'));
    try {
      return yield* session.feed(prompt);
    } finally {
      session.dispose();
    }
  }

  perplexity(value, options) {
    const { adapters, ...rest } = read(options, PERPLEXITY, 'perplexity()');
    const session = this.newSession({ adapters });
    try {
      return session.perplexity(value, rest);
    } finally {
      session.dispose();
    }
  }

  renderChat(messages, options) {
    const { addGenerationPrompt = true } = read(options, { addGenerationPrompt: truth }, 'renderChat()');
    const content = jsonText(list(messages, 'messages', 'a list of objects with role and content'), 'messages');
    return this.library.frame((frame) => {
      const { pointer, count } = frame.bytes(new TextEncoder().encode(content));
      return this.library.text('loom_model_render_chat', this.handle, pointer, count, Number(addGenerationPrompt));
    });
  }

  tokenizer() {
    return new Tokenizer(this.library, this.make('loom_model_tokenizer'));
  }

  info() {
    return this.json('loom_model_info');
  }

  adapters() {
    return this.json('loom_model_adapters');
  }
}

/** Calls the function that loads from such a source, and returns the handle. */
function load(library, frame, source, options) {
  if (source.path !== undefined) return library.make('loom_model_open', frame.text(source.path), options);
  if (source.files !== undefined) {
    const names = Object.keys(source.files);
    const joined = new Uint8Array(names.reduce((sum, name) => sum + source.files[name].length, 0));
    const ends = [];
    let at = 0;
    for (const name of names) {
      joined.set(source.files[name], at);
      at += source.files[name].length;
      ends.push(at);
    }
    const listed = frame.texts(names);
    const data = frame.bytes(joined);
    const places = frame.extents(ends);
    return library.make(
      'loom_model_from_files',
      listed.pointer,
      listed.count,
      data.pointer,
      data.count,
      places.pointer,
      places.count,
      options,
    );
  }
  const reader = source.reader ?? readerOf(source.bytes);
  const take = (offset, to, size) => {
    const count = reader.read(Number(offset), library.core.view('u8', to, Number(size)));
    return BigInt(count);
  };
  return library.withCallback('read_at', take, -1n, (callback) =>
    library.make('loom_model_from_callback', BigInt(reader.size), callback.pointer, callback.user, options),
  );
}

/** A reader of bytes in memory. */
function readerOf(bytes) {
  return {
    size: bytes.length,
    read(offset, into) {
      const part = bytes.subarray(offset, offset + into.length);
      into.set(part);
      return part.length;
    },
  };
}
