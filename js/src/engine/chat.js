// Conversations with a language model.
import { LoomError } from '../errors.js';
import { answer } from './answer.js';
import { decoded } from './library.js';
import { ANSWER, generationOptions, jsonText, list, read, text, whole } from './options.js';
import { Owner } from './owner.js';
import { bytesOf } from './tokenizer.js';

export class Chat extends Owner {
  static type = 'Chat';

  constructor(model, session, system, options, adapters) {
    super(
      model.library,
      model.library.frame((frame) =>
        model.library.make(
          'loom_chat_create',
          session.handle,
          frame.text(system || undefined),
          generationOptions(frame, options),
        ),
      ),
    );
    this.model = model;
    this.session = session;
    this.options = options;
    this.adapters = adapters; // undefined: all
  }

  /** Adds a message and answers it: yields pieces of text and returns the Generation. Its text so far joins the
   *  conversation however it ends. Without a message the answer is to the messages as they stand. */
  *send(message, options) {
    const ofChat = Object.keys(options ?? {}).find((name) => ANSWER[name] !== undefined);
    if (ofChat !== undefined)
      throw new LoomError('UnknownKey', `send() has no option "${ofChat}": it is one of chat(), for all its answers`);
    read(options, {}, 'send()');
    this.stop();
    if (message === undefined || message === null) {
      this.run('loom_chat_answer', 0n);
    } else {
      this.library.frame((frame) => {
        const { pointer, count } = frame.bytes(bytesOf(message, 'text'));
        this.run('loom_chat_say', pointer, count, 0n);
      });
    }
    try {
      return yield* answer(this.library, this.handle, 'chat', { logprobs: this.options.logprobs });
    } finally {
      if (!this.isDisposed) this.stop();
    }
  }

  stop() {
    this.run('loom_chat_stop');
  }

  messages() {
    return this.json('loom_chat_messages');
  }

  setMessages(messages) {
    const content = jsonText(list(messages, 'messages', 'a list of objects with role and content'), 'messages');
    this.library.frame((frame) => {
      const { pointer, count } = frame.bytes(bytesOf(content, 'messages'));
      this.run('loom_chat_set_messages', pointer, count);
    });
  }

  rewind(count) {
    this.run('loom_chat_rewind', BigInt(whole(count, 'count', 0, 2 ** 40)));
  }

  edit(index, content) {
    this.library.frame((frame) => {
      const { pointer, count } = frame.bytes(bytesOf(content, 'text'));
      this.run('loom_chat_edit', BigInt(whole(index, 'index', 0, 2 ** 40)), pointer, count);
    });
  }

  receipt() {
    return this.json('loom_chat_receipt');
  }

  /** A conversation with the same messages and options, which goes its own way. */
  fork() {
    const { adapters, model, options } = this;
    const copy = new Chat(model, model.newSession({ adapters }), undefined, options, adapters);
    copy.setMessages(this.messages());
    return copy;
  }

  /** The conversation as text, for load() and for files of `loom chat`: with the receipts of its answers where the model
   *  came from a file, else with the reason. */
  save() {
    const save = (path) => this.library.frame((frame) => this.run('loom_chat_save', frame.text(path)));
    return decoded(this.core.throughFile(save));
  }

  load(saved) {
    let content;
    try {
      content = JSON.parse(text(saved, 'saved'));
    } catch (error) {
      if (error instanceof LoomError) throw error;
      throw new LoomError('CorruptData', `the saved conversation is not JSON: ${error.message}`, { cause: error });
    }
    if (!Array.isArray(content?.messages)) throw new LoomError('CorruptData', 'the saved conversation has no messages');
    if (content.receipts === undefined) return this.setMessages(content.messages);
    const load = (path) => this.library.frame((frame) => this.run('loom_chat_load', frame.text(path)));
    this.core.throughFile(load, new TextEncoder().encode(saved));
  }

  dispose() {
    super.dispose();
    this.session.dispose();
  }
}
