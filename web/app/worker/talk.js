// Language models: one model with one conversation, whose tokens the next answer uses again.
import { LM } from '../../js/src/engine/lm.js';
import { FileSource } from './source.js';

export class Talk {
  constructor(host) {
    this.host = host;
  }

  /** Opens a model from a file, to run on a device; events are the fraction that is done. */
  async open({ file, device }, onEvent) {
    this.close();
    const source = { reader: new FileSource(file), name: file.name };
    this.model = LM.open(this.host.library, source, { device }, (fraction) => (onEvent(fraction), true));
    if (device !== 'cpu') this.model.session().dispose(); // whether the device can be used
  }

  /**
   * Answers a conversation; events are {text, promptTokens, tokens}. A cancel keeps what was written.
   * @param {{messages: object[], options: object}} args options are those of the package's chat()
   */
  async answer({ messages, options }, onEvent) {
    const chat = this.chatWith(options);
    chat.setMessages(messages);
    const answer = chat.send();
    for (let command; ; command = this.host.isCancelled() ? 'stop' : undefined) {
      const { done, value } = answer.next(command);
      if (done) return value;
      onEvent(value);
      await this.host.breathe();
    }
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
    this.model?.dispose();
    this.chat = this.model = undefined;
  }
}
