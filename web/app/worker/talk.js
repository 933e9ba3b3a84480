// Language models: one model with one conversation, whose tokens the next answer uses again.
import { LM } from '../../js/src/engine/lm.js';
import { openSource } from './source.js';

export class Talk {
  constructor(host) {
    this.host = host;
  }

  /**
   * Opens a model from a file, to run on a device; events are the fraction that is done.
   * @returns {Promise<{answers: boolean}>} whether it has a chat template; otherwise it continues texts
   */
  async open({ file, handle, device }, onEvent) {
    this.close();
    const reader = await openSource(file, handle);
    try {
      const source = { reader, name: file.name };
      this.model = LM.open(this.host.library, source, { device }, (fraction) => (onEvent(fraction), true));
    } finally {
      reader.close();
    }
    if (device !== 'cpu') this.model.session().dispose(); // whether the device can be used
    this.answers = hasTemplate(this.model);
    return { answers: this.answers };
  }

  /**
   * Answers a conversation; events are {text, promptTokens, tokens}. A cancel keeps what was written.
   * @param {{messages: object[], options: object}} args options are those of the package's chat()
   */
  async answer({ messages, options }, onEvent) {
    const answer = this.answers ? this.answerTo(messages, options) : this.continued(messages, options);
    for (let command; ; command = this.host.isCancelled() ? 'stop' : undefined) {
      const { done, value } = answer.next(command);
      if (done) return value;
      onEvent(value);
      await this.host.breathe();
    }
  }

  answerTo(messages, options) {
    const chat = this.chatWith(options);
    chat.setMessages(messages);
    return chat.send();
  }

  /** Continues the text of a conversation, without the tokens of it that the session has read. */
  continued(messages, options) {
    const text = messages.map(({ role, content }) => (role === 'system' ? '' : content)).join('');
    const { ids } = this.model.prompt(text, { form: 'raw' });
    this.session ??= this.model.session();
    const read = this.session.tokens();
    let common = 0;
    while (common < Math.min(read.length, ids.length - 1) && read[common] === ids[common]) ++common;
    this.session.rewind(common);
    return this.session.generate(ids.slice(common), options);
  }

  /** The chat that holds the tokens so far; another one where its options differ. */
  chatWith(options) {
    const key = JSON.stringify(options);
    if (this.chat === undefined || this.key !== key) {
      this.chat?.dispose();
      this.chat = this.model.chat(options);
      this.key = key;
    }
    return this.chat;
  }

  close() {
    this.chat?.dispose();
    this.session?.dispose();
    this.model?.dispose();
    this.chat = this.session = this.model = undefined;
  }
}

function hasTemplate(model) {
  try {
    model.renderChat([{ role: 'user', content: 'Hello' }]);
  } catch (error) {
    if (error.code === 'NoTemplate') return false; // other errors are those of an answer
  }
  return true;
}
