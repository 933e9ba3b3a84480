// Answers that are being written: one loop for prompts and for chats.
import { decoded, fieldsOf } from './library.js';

const NOT_YET = 0;
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Writes an answer: yields pieces of text and returns the Generation. Sending "stop" into the generator ends the answer
 * where it is, with the stopReason "cancelled".
 * @param {import('./library.js').Library} library
 * @param {bigint} handle a generator or a chat
 * @param {"generator"|"chat"} kind
 */
export function* answer(library, handle, kind, { logprobs = 0, receipt = false } = {}) {
  const { core } = library;
  const cancel = library.make('loom_cancel_create');
  const utf8 = new TextDecoder();
  const step = core.alloc(library.layouts.step.size);
  try {
    core.view('u8', step, library.layouts.step.size).fill(0);
    core.view('u32', step, 1)[0] = library.layouts.step.size;
    let state = { stop: NOT_YET };
    while (state.stop === NOT_YET) {
      library.check(core.call(`loom_${kind}_next`, handle, cancel, step));
      state = fieldsOf(library, 'step', step);
      const bytes = core.view('u8', state.text, state.text_size);
      const piece = utf8.decode(bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice(), {
        stream: state.stop === NOT_YET,
      });
      const command = yield { text: piece, promptTokens: state.prompt_tokens, tokens: state.generated_tokens };
      if (command === 'stop') library.check(core.call('loom_cancel_set', cancel, 1));
    }
    const out = result(library, handle, kind);
    if (logprobs > 0) out.logprobs = library.json(`loom_${kind}_logprobs`, handle);
    if (receipt) out.receipt = library.json(`loom_${kind}_receipt`, handle);
    return out;
  } finally {
    core.free(step);
    library.release(cancel);
  }
}

/** The Generation of a generator or a chat. */
function result(library, handle, kind) {
  const { core } = library;
  return library.frame((frame) => {
    const place = frame.struct('generation');
    library.check(core.call(`loom_${kind}_result`, handle, place));
    const out = fieldsOf(library, 'generation', place);
    const stopReason = core.text(core.call('loom_stop_name', out.stop));
    return {
      text: decoded(core.view('u8', out.text, out.text_size)),
      ids: Array.from(core.view('i32', out.ids, out.ids_count)),
      stopReason,
      hash: hex(out.hash),
      promptTokens: out.prompt_tokens,
      droppedBytes: out.dropped_bytes,
      prefillSeconds: out.prefill_seconds,
      decodeSeconds: out.decode_seconds,
      tokensPerSecond: out.decode_seconds > 0 ? out.ids_count / out.decode_seconds : 0,
      drafted: out.drafted,
      accepted: out.accepted,
      passes: out.passes,
    };
  });
}
