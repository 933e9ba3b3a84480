// Texts to vectors.
import { LoomError } from '../errors.js';
import { fieldsOf } from './library.js';
import { COMPUTE, computeOptions, list, read, text } from './options.js';
import { Owner } from './owner.js';
import { Tensor, tensorAt } from './tensors.js';
import { Tokenizer } from './tokenizer.js';

const OPEN = { ...COMPUTE, dtype: text, prompt: text, promptName: text };

export class Encoder extends Owner {
  static type = 'Encoder';

  /** Opens the folder of a BERT in the layout of sentence-transformers. */
  static open(library, source, options) {
    const { dtype, prompt, promptName, ...compute } = read(options, OPEN, 'Encoder.load()');
    if (source.path === undefined) {
      throw new LoomError(
        'Unsupported',
        'an encoder is a folder of files: give its path, or an object from file names to their bytes',
      );
    }
    return library.frame(
      (frame) =>
        new Encoder(
          library,
          library.make(
            'loom_encoder_open',
            frame.text(source.path),
            frame.struct('encoder_options', {
              compute: computeOptions(frame, compute),
              dtype: frame.text(dtype),
              prompt: frame.text(prompt),
              prompt_name: frame.text(promptName),
            }),
          ),
        ),
    );
  }

  /** The vectors of texts, [texts, dimensions]; of a single text [dimensions]. */
  embed(texts, options) {
    read(options, {}, 'embed()');
    const isOne = typeof texts === 'string';
    const several = (isOne ? [texts] : list(texts, 'texts', 'a text or a list of texts')).map((each) =>
      text(each, 'a text'),
    );
    return this.library.frame((frame) => {
      const { pointer, count } = frame.texts(several);
      const places = [frame.alloc(8), frame.alloc(8)]; // of the numbers of tokens
      const out = frame.struct('tensor');
      this.library.cancellable((cancel) =>
        this.run('loom_encoder_embed', pointer, count, cancel, out, ...places),
      );
      const vectors = tensorAt(this.library, fieldsOf(this.library, 'tensor', out));
      return isOne ? new Tensor(vectors.data, vectors.shape.slice(1)) : vectors;
    });
  }

  tokenizer() {
    return new Tokenizer(this.library, this.make('loom_encoder_tokenizer'));
  }

  info() {
    return this.json('loom_encoder_info');
  }

  receipt() {
    return this.json('loom_encoder_receipt');
  }
}
