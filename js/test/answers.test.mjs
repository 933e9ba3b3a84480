// Equal bits through every engine: answers, training, tokens, vectors.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { createEngine, Encoder, Graph, initLoom, LM, Network, Trainer } from '../src/node.js';
import {
  ANSWER,
  batch,
  DATA,
  everyEngine,
  HASH,
  MODEL,
  nativeFigures,
  QUESTION,
  SENTENCES,
  SPEC,
  STEPS,
  TEXTS,
  TRAINING,
} from './common.mjs';

const figures = nativeFigures();
assert.equal(figures.answer, HASH);

everyEngine(test, "the first program gives the README's answer", async (options) => {
  const loom = await initLoom(options);
  await loom.LoadTransformer(MODEL);
  const result = loom.Generate(QUESTION, 50);
  assert.equal(result, ANSWER);
  assert.equal(loom.last.hash, HASH);
  loom.dispose();
});

everyEngine(test, 'LM gives the same answer from a worker, whole and as a stream', async (options) => {
  await using_(await createEngine(options), async (engine) => {
    const fractions = [];
    const lm = await LM.load(MODEL, { engine, onProgress: (fraction) => fractions.push(fraction) });
    // A native load takes some 50 ms, which may be one report.
    assert.ok(fractions.length > (options.kind === 'native' ? 0 : 1));
    assert.deepEqual(fractions, fractions.toSorted((a, b) => a - b));
    assert.equal(fractions.at(-1), 1);
    const answer = await lm.generate(QUESTION);
    assert.deepEqual([answer.text, answer.hash, answer.stopReason], [ANSWER, HASH, 'eos']);
    let text = '';
    const stream = lm.stream(QUESTION);
    for await (const piece of stream) text += piece;
    assert.equal(text, ANSWER);
    assert.equal((await stream.result).hash, HASH);
    const drawn = await lm.generate('Tell me a story.', {
      maxTokens: 12,
      temperature: 0.8,
      topK: 40,
      topP: 0.9,
      seed: 7,
    });
    assert.equal(drawn.hash, figures.drawn);
    const tokenizer = await lm.tokenizer();
    assert.deepEqual(await Promise.all(TEXTS.map((each) => tokenizer.encode(each))), figures.tokens);
    assert.equal(await tokenizer.decode(figures.tokens[1]), TEXTS[1]);
  });
});

everyEngine(test, '500 training steps give the same weights', async (options) => {
  await using_(await createEngine(options), async (engine) => {
    const net = await Network.fromSpec(SPEC, { engine });
    const trainer = await Trainer.create(net, [4, 8], TRAINING);
    for (let step = 0; step < STEPS; step++) {
      const { inputs, targets } = batch(step);
      await trainer.step(inputs, targets);
    }
    assert.equal(await net.hash(), figures.training);
  });
});

everyEngine(test, 'an encoder gives the same vectors', async (options) => {
  await using_(await createEngine(options), async (engine) => {
    const encoder = await Encoder.load(`${DATA}/minilm`, { engine });
    const { data, shape } = await encoder.embed(SENTENCES);
    assert.deepEqual(shape, [3, 384]);
    assert.equal(createHash('sha256').update(new Uint8Array(data.buffer)).digest('hex'), figures.vectors);
  });
});

everyEngine(
  test,
  'an ONNX graph gives the same output',
  async (options) => {
    await using_(await createEngine(options), async (engine) => {
      const graph = await Graph.load(`${DATA}/vad/silero_vad.onnx`, { engine });
      const sound = Array.from({ length: 512 }, (_, i) => ((i * 37) % 101) / 128 - 0.375);
      const state = { data: new Float32Array(256), shape: [2, 1, 128] };
      const { output, stateN } = await graph.forward({ input: [sound], state, sr: 16000 });
      assert.deepEqual(output.shape, [1, 1]);
      const hash = createHash('sha256');
      for (const { data } of [output, stateN]) hash.update(new Uint8Array(data.buffer));
      assert.equal(hash.digest('hex'), figures.graph);
      const error = await graph.forward({ sound: [sound] }).catch((each) => each);
      assert.equal(error.code, 'UnknownKey', error.message);
    });
  },
  ['native', 'wasm'],
);

async function using_(engine, body) {
  try {
    await body(engine);
  } finally {
    engine.dispose();
  }
}
