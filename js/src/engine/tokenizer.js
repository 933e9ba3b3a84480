// Text to token ids and back.
import { LoomError } from '../errors.js';
import { list, read, truth, whole } from './options.js';
import { Owner } from './owner.js';

const ENCODE = { addSpecialTokens: truth, parseSpecial: truth };
const DECODE = { skipSpecialTokens: truth };
const encoder = new TextEncoder();

/** The bytes of a text, or bytes as they are. */
export function bytesOf(value, what) {
  if (value instanceof Uint8Array) return value;
  if (typeof value === 'string') return encoder.encode(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new LoomError('TypeMismatch', `${what} must be a text or bytes`);
}

export class Tokenizer extends Owner {
  static type = 'Tokenizer';

  /** Opens a tokenizer of an opened source (see engine/sources.js). */
  static open(library, source) {
    if (source.path !== undefined) {
      return library.frame(
        (frame) => new Tokenizer(library, library.make('loom_tokenizer_open', frame.text(source.path))),
      );
    }
    return library.frame((frame) => {
      const { pointer, count } = frame.bytes(source.bytes);
      return new Tokenizer(library, library.make('loom_tokenizer_from_memory', pointer, count));
    });
  }

  encode(value, options) {
    const { addSpecialTokens = true, parseSpecial = true } = read(options, ENCODE, 'encode()');
    return this.library.frame((frame) => {
      const { pointer, count } = frame.bytes(bytesOf(value, 'text'));
      const bytes = this.blob('loom_tokenizer_encode', pointer, count, Number(addSpecialTokens), Number(parseSpecial));
      return Array.from(new Int32Array(bytes.buffer, 0, bytes.length / 4));
    });
  }

  decode(ids, options) {
    const { skipSpecialTokens = true } = read(options, DECODE, 'decode()');
    const numbers = Int32Array.from(list(ids, 'ids', 'a list of token ids'), (id) =>
      whole(id, 'a token id', -(2 ** 31), 2 ** 31 - 1),
    );
    return this.library.frame((frame) => {
      const { pointer, count } = frame.copied(numbers);
      return this.library.text('loom_tokenizer_decode', this.handle, pointer, count, Number(skipSpecialTokens));
    });
  }

  /** The id of a token as the vocabulary spells it; null if it has none. */
  idOf(token) {
    return this.library.frame((frame) => {
      const { pointer, count } = frame.bytes(bytesOf(token, 'token'));
      const out = frame.alloc(8);
      const status = this.core.call('loom_tokenizer_id', this.handle, pointer, count, out);
      if (status === 10) return null; // NOT_FOUND
      this.library.check(status);
      return this.core.view('i32', out, 1)[0];
    });
  }

  /** The text of a token as the vocabulary spells it; empty for an unknown id. */
  token(id) {
    return this.library.text('loom_tokenizer_token', this.handle, whole(id, 'a token id', -(2 ** 31), 2 ** 31 - 1));
  }

  vocabSize() {
    return this.library.frame((frame) => {
      const out = frame.alloc(8);
      this.run('loom_tokenizer_vocab_size', out);
      return Number(this.core.view('u64', out, 1)[0]);
    });
  }
}
