// Answers that are being written, as async iterators.
import { LoomError } from './errors.js';

/**
 * An answer that is being written: `for await` gives pieces of text. Leaving the loop ends the answer; stop() does too,
 * and `result` is then the answer so far.
 */
export class AnswerStream {
  #items = [];
  #waiting = [];
  #isDone = false;
  #isLeft = false; // nobody reads the pieces that come
  #error;
  #engine;
  #call;

  constructor(remote, method, args, { signal, onToken } = {}) {
    this.#engine = remote.engine;
    this.promptTokens = 0;
    this.tokens = 0;
    const onItem = ({ text, promptTokens, tokens }) => {
      Object.assign(this, { promptTokens, tokens });
      onToken?.({ text, promptTokens, tokens });
      if (text !== '') this.#push(text);
    };
    /** The whole answer, a Generation. */
    this.result = remote.invoke(method, args, { signal, onItem, onCall: (call) => (this.#call = call) });
    this.result.then(
      () => this.#finish(),
      (error) => this.#finish(error),
    );
  }

  #push(text) {
    if (this.#isLeft) return;
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#items.push(text);
    else waiting.resolve({ done: false, value: text });
  }

  #finish(error) {
    this.#isDone = true;
    this.#error = error;
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      if (error === undefined) resolve({ done: true, value: undefined });
      else reject(error);
    }
  }

  next() {
    if (this.#items.length > 0) return Promise.resolve({ done: false, value: this.#items.shift() });
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#isDone) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Ends the answer where it is; resolves to the Generation with the stopReason "cancelled". */
  stop() {
    if (!this.#isDone && this.#call !== undefined) this.#engine.stop(this.#call);
    return this.result;
  }

  async return() {
    this.#isLeft = true;
    this.#items = [];
    await this.stop().catch((error) => {
      if (!(error instanceof LoomError)) throw error;
    });
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    await this.return();
  }
}
