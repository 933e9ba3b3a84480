// What calls do when something is wrong, ends early or happens twice.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, test } from 'node:test';
import {
  Chat,
  createEngine,
  Encoder,
  Graph,
  initLoom,
  LM,
  LoomError,
  Network,
  StepMesh,
  Tensor,
  Tokenizer,
  Trainer,
} from '../src/node.js';
import { OTHER_ENDINGS } from '../src/api.js';
import { checkEngineOptions, ENGINE_OPTIONS } from '../src/engine.js';
import { Library } from '../src/engine/library.js';
import { ANSWER as OPTIONS, COMPUTE, generationOptions } from '../src/engine/options.js';
import { createCore } from '../src/platform/node.js';
import { ANSWER, DATA, engines, everyEngine, HASH, MODEL, QUESTION, ROOT, SPEC, WASM } from './common.mjs';

const work = mkdtempSync(join(tmpdir(), 'welvet-'));
after(() => rmSync(work, { recursive: true, force: true }));
const rejects = (promise, code, message = /./) =>
  assert.rejects(promise, (error) => {
    assert.ok(error instanceof LoomError, `${error?.stack}`);
    if (code instanceof RegExp) assert.match(error.code, code, error.message);
    else assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });

/** Runs a body with an engine and ends it. */
function withEngine(name, body, only = ['native', 'wasm']) {
  everyEngine(
    test,
    name,
    async (options, kind) => {
      const engine = await createEngine(options);
      try {
        await body(engine, options, kind);
      } finally {
        engine.dispose();
      }
    },
    only,
  );
}

withEngine('a call after dispose() is refused, and disposing twice is not', async (engine) => {
  const net = await Network.fromSpec(SPEC, { engine });
  const session = await net.session();
  await session.dispose();
  await session.dispose();
  await rejects(session.forward([[1, 2, 3, 4, 5, 6, 7, 8]]), 'Disposed', /forward/);
  await rejects(Trainer.create(await disposed(net), [1, 8], {}, {}), 'Disposed');
  engine.dispose();
  await rejects(Network.fromSpec(SPEC, { engine }), 'Disposed');
});

async function disposed(object) {
  await object.dispose();
  return object;
}

withEngine('calls on one object take turns', async (engine) => {
  const lm = await LM.load(MODEL, { engine });
  const ended = [];
  const ask = async (name, maxTokens) => {
    const { hash } = await lm.generate(QUESTION, { maxTokens });
    ended.push(name);
    return hash;
  };
  const hashes = await Promise.all([ask('first', 8), ask('second', 1), ask('third', 8)]);
  assert.deepEqual(ended, ['first', 'second', 'third']);
  assert.deepEqual([hashes[0], hashes[2]], [HASH, HASH]);
});

withEngine('an abort ends a call at any moment, and the object goes on', async (engine, options, kind) => {
  await rejects(LM.load(MODEL, { engine, signal: AbortSignal.abort() }), 'Cancelled');
  const loading = new AbortController();
  await rejects(LM.load(MODEL, { engine, signal: loading.signal, onProgress: () => loading.abort() }), 'Cancelled');
  const lm = await LM.load(MODEL, { engine });
  const text = 'word '.repeat(kind === 'native' ? 600 : 80);
  for (const [prompt, moment] of [
    [text, 1],
    [QUESTION, 40],
    [QUESTION, 44],
  ]) {
    // while the prompt is read; after tokens
    const controller = new AbortController();
    let steps = 0;
    const call = lm.generate(prompt, {
      maxTokens: 200,
      minTokens: 100,
      signal: controller.signal,
      onToken: ({ promptTokens, tokens }) => {
        steps++;
        if (promptTokens + tokens >= moment) controller.abort();
      },
    });
    const error = await call.catch((each) => each);
    assert.deepEqual([error.name, error.code], ['AbortError', 'Cancelled']);
    assert.ok(steps > 0);
  }
  const waiting = new AbortController();
  const running = lm.generate(QUESTION);
  const queued = lm.generate(QUESTION, { signal: waiting.signal });
  waiting.abort();
  await rejects(queued, 'Cancelled');
  assert.equal((await running).hash, HASH);
  assert.equal((await lm.generate(QUESTION)).hash, HASH);
  const session = await lm.session();
  await session.feed('Once upon a time');
  const before = await session.tokens();
  const feeding = new AbortController();
  const fed = session.feed(text, { signal: feeding.signal });
  setTimeout(() => feeding.abort(), 30);
  await rejects(fed, 'Cancelled');
  assert.deepEqual(await session.tokens(), before);
});

withEngine('leaving a stream ends the answer, and a chat keeps its text', async (engine) => {
  const lm = await LM.load(MODEL, { engine });
  const chat = await lm.chat({ system: 'You are brief.', maxTokens: 24 });
  let text = '';
  const stream = chat.stream('Tell me a long story.');
  for await (const piece of stream) {
    text += piece;
    if (text.length > 10) break;
  }
  const result = await stream.result;
  assert.equal(result.stopReason, 'cancelled');
  assert.ok(result.text.startsWith(text));
  const messages = await chat.messages();
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['system', 'user', 'assistant'],
  );
  assert.equal(messages[2].content, result.text);
  const copy = await chat.fork();
  await copy.rewind(1);
  assert.equal((await chat.messages()).length, 3);
  const again = await lm.chat();
  await again.load(await chat.save());
  await rejects(again.load('{'), 'CorruptData');
  await rejects(again.load('{}'), 'CorruptData', /messages/);
  assert.deepEqual(await again.messages(), messages);
  await again.edit(1, QUESTION);
  assert.equal((await again.send(null)).ids.length > 0, true);
});

withEngine('a saved chat has the receipts of its answers, and the command reads it', async (engine, _, kind) => {
  const lm = await LM.load(MODEL, { engine });
  const chat = await lm.chat();
  assert.equal((await chat.send(QUESTION)).hash, HASH);
  const saved = await chat.save();
  const { loom_chat: version, messages, receipts, receipts_error: why } = JSON.parse(saved);
  assert.deepEqual([version, messages], [1, await chat.messages()]);
  const again = await lm.chat();
  await again.load(saved);
  assert.deepEqual(await again.messages(), messages);
  if (kind !== 'native') {
    assert.match(why, /memory|callback/); // a receipt names the model's file
    return;
  }
  assert.deepEqual(receipts, [{ message: 1, receipt: await chat.receipt() }]);
  assert.deepEqual(JSON.parse(await again.save()), JSON.parse(saved));
  const program = process.env.LOOM_PROGRAM;
  if (program === undefined) return;
  const file = join(work, 'chat.json');
  writeFileSync(file, saved);
  assert.match(execFileSync(program, ['replay', file], { encoding: 'utf8' }), /EQUAL/);
});

withEngine('an object that reads is a source; a read that fails is the error', async (engine) => {
  const file = openSync(MODEL, 'r');
  const read = (offset, length) => {
    const bytes = new Uint8Array(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
  };
  const { size } = statSync(MODEL);
  const lm = await LM.load({ size, read: async (...args) => read(...args) }, { engine });
  assert.equal((await lm.generate(QUESTION)).hash, HASH);
  const cause = new Error('the line was cut');
  let count = 0;
  const error = await LM.load(
    { size, read: (...args) => (++count > 3 ? Promise.reject(cause) : read(...args)) },
    { engine },
  ).catch((each) => each);
  assert.deepEqual([error.code, error.cause], ['ReadFailed', cause]);
  await rejects(LM.load({ size, read: () => 'text' }, { engine }), 'TypeMismatch', /Uint8Array/);
  await rejects(LM.load({ size: -1, read }, { engine }), 'TypeMismatch', /size/);
  if (engine.kind === 'wasm')
    await rejects(LM.load({ size: 5 * 2 ** 30, read }, { engine }), 'OutOfMemory', /5.00 GiB.*4.00/);
  const stop = new Error('the listener failed');
  await assert.rejects(
    LM.load(MODEL, {
      engine,
      onProgress: () => {
        throw stop;
      },
    }),
    stop,
  );
});

withEngine(
  'bound memory is read and filled without a copy',
  async (engine) => {
    const net = await Network.fromSpec(SPEC, { engine });
    const session = await net.session();
    if (engine.kind === 'wasm' && engine.threads === 1) {
      await rejects(session.bind([1, 8]), 'Unsupported', /shared memory/);
      return;
    }
    const { input, output } = await session.bind([1, 8]);
    assert.deepEqual(
      [input.shape, output.shape],
      [
        [1, 8],
        [1, 4],
      ],
    );
    for (const first of [1, 2]) {
      input.data.set([first, 2, 3, 4, 5, 6, 7, 8]);
      await session.run();
      assert.deepEqual(Array.from(output.data), Array.from((await net.forward(Array.from(input.data))).data));
    }
    await session.dispose();
    await rejects(session.run(), 'Disposed');
  },
  ['native', 'wasm', 'wasm_threads'],
);

withEngine('numbers in shared memory are read where they are', async (engine) => {
  const net = await Network.fromSpec(SPEC, { engine });
  const shared = new Float32Array(new SharedArrayBuffer(32));
  shared.set([1, 2, 3, 4, 5, 6, 7, 8]);
  const first = await net.forward({ data: shared, shape: [1, 8] });
  assert.deepEqual(first.data, (await net.forward([[1, 2, 3, 4, 5, 6, 7, 8]])).data);
  assert.ok(first.data.buffer instanceof ArrayBuffer);
  const collected = [];
  for (let i = 0; i < 8; i++) collected.push(await net.clone());
  assert.equal((await engine.info()).objects, 9);
  await Promise.all(collected.map((each) => each.dispose()));
  assert.equal((await engine.info()).objects, 1);
});

withEngine('memory that was moved away is refused', async (engine) => {
  const net = await Network.fromSpec(SPEC, { engine });
  const moved = new Float32Array(8);
  structuredClone(moved.buffer, { transfer: [moved.buffer] });
  await rejects(net.forward(new Tensor(moved, [1, 8])), 'InvalidArgument');
  await rejects(net.forward(moved), 'InvalidArgument');
  const bytes = new Uint8Array(8);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  await rejects(LM.load(bytes, { engine }), 'InvalidArgument', /moved/);
});

withEngine('files that are no models are refused by their errors', async (engine) => {
  await rejects(LM.load(join(work, 'none.gguf'), { engine }), 'NotFound');
  writeFileSync(join(work, 'torn.gguf'), readFileSync(MODEL).subarray(0, 1 << 20));
  await rejects(LM.load(join(work, 'torn.gguf'), { engine }), 'CorruptData');
  await rejects(LM.load(new Uint8Array(0), { engine }), 'CorruptData');
  await rejects(LM.load(new TextEncoder().encode('no model at all, only a text'), { engine }), 'Unsupported');
  await rejects(LM.load(7, { engine }), 'TypeMismatch', /source/);
  await rejects(LM.load('', { engine }), 'InvalidArgument');
  // Errors name the file as the caller does, not a place in the engine.
  const text = join(work, 'text.json');
  writeFileSync(text, '{"nothing": 1}');
  const begins = (name) => new RegExp(`^${name.replaceAll('.', '\\.')}\\b`);
  await rejects(LM.load(text, { engine }), 'Unsupported', begins(text));
  await rejects(LM.load(work, { engine }), 'Unsupported', begins(work));
  await rejects(Network.fromFile(text, { engine }), 'UnknownKey', begins(text));
  await rejects(Graph.load(text, { engine }), 'CorruptData', begins(text));
  await rejects(LM.load(new File(['no model'], 'my.gguf'), { engine }), 'Unsupported', /^my\.gguf: no GGUF file/);
  await rejects(Network.fromSpec({ layers: [{ type: 'dens' }] }, { engine }), 'UnknownName', /dens/);
  await rejects(Network.fromSpec(SPEC, { engine, colour: 1 }), 'UnknownKey', /colour/);
});

withEngine('networks: weights, sessions, meshes, targets', async (engine) => {
  const net = await Network.fromSpec(SPEC, { engine });
  const { data, shape } = await net.get('layers.0.weight');
  assert.deepEqual(shape, [16, 8]);
  const hash = await net.hash();
  await net.set(
    'layers.0.weight',
    data.map((each) => each + 1),
  );
  assert.notEqual(await net.hash(), hash);
  await net.set('layers.0.weight', { data, shape });
  assert.equal(await net.hash(), hash);
  await rejects(net.set('layers.0.weight', [1, 2]), 'ShapeMismatch');
  await rejects(net.get('layers.9.weight'), 'NotFound');
  const copy = await Network.fromFile(await net.toBytes(), { engine });
  assert.equal(await copy.hash(), hash);
  await net.save(join(work, 'net.entity'));
  await net.save(join(work, 'net.entity'));
  await rejects(net.save(join(work, 'net.onnx')), 'InvalidArgument');
  const letter = join(work, 'letter.json');
  for (const text of ['Dear Sir', '{"dear": "Sir"}']) {
    writeFileSync(letter, text);
    await rejects(net.save(letter), 'InvalidArgument');
  }
  await net.save(letter, { overwrite: true });
  await net.save(letter);
  assert.equal(await (await Network.fromFile(join(work, 'net.entity'), { engine })).hash(), hash);
  const x = [[1, 2, 3, 4, 5, 6, 7, 8]];
  const session = await net.session({ backward: true });
  const y = await session.forward(x);
  assert.deepEqual(y.shape, [1, 4]);
  assert.deepEqual((await net.forward(Float32Array.from(x[0]), {})).data, y.data);
  assert.deepEqual((await session.backward(y)).shape, [1, 8]);
  assert.deepEqual((await session.gradient('layers.1.weight')).shape, [4, 16]);
  const mesh = await StepMesh.create(net, [1, 8], { keepInputs: true });
  const [state, other] = [await mesh.state(), await mesh.state()];
  assert.equal(await state.output(), null);
  await state.setInput(x);
  await other.setInput(x);
  await mesh.step([state, other], { ticks: 2 });
  assert.equal(await state.ticks(), 2);
  assert.deepEqual((await state.output()).data, y.data);
  const snapshot = await state.snapshot();
  await mesh.step(state);
  await state.restore(snapshot);
  assert.equal(await state.hash(), await other.hash());
  const tween = await mesh.tween();
  await tween.step(state, [[0, 0, 0, 0]], 0.1);
  assert.notEqual(await net.hash(), hash);
});

test('every option is read, and refused by its name where it is wrong', async (t) => {
  const runnable = Object.values(engines()).find(({ options }) => options);
  if (runnable === undefined) return t.skip('there is no engine');
  const library = new Library(await createCore(runnable.options));
  const values = {
    maxTokens: 7,
    minTokens: 3,
    temperature: 0.5,
    topK: 5,
    topP: 0.5,
    minP: 0.1,
    typicalP: 0.5,
    repetitionPenalty: 1.5,
    repetitionWindow: 9,
    frequencyPenalty: 0.5,
    presencePenalty: 0.5,
    ignoreEos: true,
    stop: ['x'],
    stopIds: [3],
    logitBias: [[3, 1]],
    logprobs: 2,
    seed: 5,
    speculate: 'ngram',
    plainText: true,
    chatTemplate: 'chatml',
    tools: [],
    templateVariables: {},
    date: '2026-11-28',
    continueFinalMessage: true,
    schema: { type: 'object' },
    grammar: 'root ::= "a"',
    regex: 'a',
    choices: ['a', 'b'],
  };
  const bytes = (options) =>
    library.frame((frame) => {
      const size = library.layouts.generation_options.size;
      const pointer = generationOptions(frame, options);
      const found = library.core.view('u8', pointer, size).slice();
      return Buffer.from(found).toString('hex');
    });
  const nothing = bytes({});
  assert.deepEqual(Object.keys(values).sort(), Object.keys(OPTIONS).sort());
  for (const [name, value] of Object.entries(values))
    assert.notEqual(bytes({ [name]: value }), nothing, `${name} is not read`);
  for (const name of Object.keys({ ...OPTIONS, ...COMPUTE })) {
    const check = { ...OPTIONS, ...COMPUTE }[name];
    if (name === 'speculate') continue; // its type is known where the model is
    assert.throws(
      () => check(Symbol('wrong'), name),
      (error) => error instanceof LoomError && error.message.includes(name),
      name,
    );
  }
  assert.throws(() => bytes({ speculate: 3 }), /speculate/);
  for (const name of ['topP', 'typicalP', 'repetitionPenalty', 'repetitionWindow'])
    assert.throws(() => OPTIONS[name](0, name), /must not be/);
});

withEngine('options that are wrong are refused by every call', async (engine, options) => {
  const lm = await LM.load(MODEL, { engine });
  await rejects(lm.generate(QUESTION, { maxtokens: 3 }), 'UnknownKey', /maxtokens/);
  await rejects(lm.generate(QUESTION, { temperature: '1' }), 'TypeMismatch', /temperature/);
  await rejects(lm.generate(QUESTION, { signal: 3 }), 'TypeMismatch', /signal/);
  await rejects(lm.generate(QUESTION, { onProgress: () => {} }), 'UnknownKey', /onProgress/);
  await rejects(lm.generate([1, 2], { plainText: true }), 'InvalidArgument', /plainText/);
  await rejects(lm.generate(QUESTION, { max_tokens: 3 }), 'UnknownKey', /"max_tokens": expected maxTokens$/);
  await rejects(lm.chat({ sytem: '' }), 'UnknownKey', /sytem/);
  const chat = await lm.chat();
  await rejects(chat.send(QUESTION, { maxTokens: 3 }), 'UnknownKey', /"maxTokens": it is one of chat\(\)/);
  await rejects(chat.send(QUESTION, { colour: 1 }), 'UnknownKey', /"colour": expected signal or onToken$/);
  await rejects(chat.send(), 'TypeMismatch', /the message must be a text, or null/);
  assert.throws(() => new Chat(lm), { code: 'InvalidArgument', message: /made by calls, not by new: .*lm\.chat\(\)/ });
  await rejects(LM.load(MODEL, { engine, contextLenght: 9 }), 'UnknownKey', /contextLenght/);
  await rejects(lm.generate(QUESTION, { speculate: engine }), 'InvalidArgument');
  await rejects(lm.session({ threads: 0 }), 'OutOfRange', /threads/);
  await rejects(createEngine({ ...options, colour: 1 }), 'UnknownKey', /colour/);
  await rejects(createEngine({ kind: 'java' }), 'InvalidArgument', /kind/);
  const { text, logprobs } = await lm.generate(QUESTION, { logprobs: 2, stop: ' Paris' });
  assert.equal(text, ANSWER.slice(0, ANSWER.indexOf(' Paris')));
  assert.equal(logprobs[0].top.length, 2);
});

const OF_ENGINES = {
  kind: 'wasm',
  threads: 2,
  module: 'loom.wasm',
  threadsModule: 'loom-threads.wasm',
  library: '/lib/libloom.so',
  worker: new URL('file:///worker.js'),
  baseUrl: '/models',
  gpu: true,
};

test('an engine reads each of its options or refuses it by its name', async () => {
  const declared = /export interface EngineOptions \{([^]*?)\n\}/.exec(readFileSync(join(ROOT, 'js/index.d.ts'), 'utf8'))[1];
  const names = [...declared.matchAll(/^ {2}(\w+)\?:/gm)].map(([, name]) => name);
  assert.deepEqual(Object.keys(ENGINE_OPTIONS), names);
  assert.deepEqual(Object.keys(OF_ENGINES), names);
  const page = await import('../src/platform/browser.js');
  const node = (options) => checkEngineOptions(options, 'createEngine()');
  // Options that no engine of a kind reads.
  for (const [kind, check, refused] of [
    ['auto', node, ['gpu']],
    ['wasm', node, ['library', 'gpu']],
    ['native', node, ['module', 'threadsModule', 'gpu']],
    ['auto', page.checkOptions, ['library']],
    ['wasm', page.checkOptions, ['library']],
  ]) {
    for (const name of names.slice(1)) {
      const call = () => check({ kind, [name]: OF_ENGINES[name] });
      if (!refused.includes(name)) call();
      else assert.throws(call, (error) => error instanceof LoomError && error.message.includes(name), `${kind} ${name}`);
    }
  }
  assert.throws(() => page.checkOptions({ kind: 'native' }), { code: 'Unsupported', message: /native/ });
  assert.throws(() => node({ library: '/l.so', module: 'm.wasm' }), { message: /module would not be read: library/ });
  assert.throws(() => node({ module: 'm.wasm', threads: 2 }), { message: /threads is 2, and module is for one thread/ });
  assert.throws(() => node({ baseUrl: 'https://example.org/' }), { message: /baseUrl .*in Node it is a folder/ });
  for (const name of names) {
    assert.throws(() => node({ [name]: Symbol('wrong') }), { code: 'TypeMismatch', message: new RegExp(`^${name} `) });
  }
  const saved = process.env.WELVET_ENGINE;
  try {
    process.env.WELVET_ENGINE = 'wasm';
    assert.throws(() => node({ library: '/l.so' }), { message: /library .*WELVET_ENGINE is "wasm"/ });
    process.env.WELVET_ENGINE = 'java';
    assert.throws(() => node({}), { message: /WELVET_ENGINE is "java": expected auto, native, wasm/ });
  } finally {
    if (saved === undefined) delete process.env.WELVET_ENGINE;
    else process.env.WELVET_ENGINE = saved;
  }
});

withEngine('every call reads each of its options or refuses it by its name', async (engine) => {
  const x = [[1, 2, 3, 4, 5, 6, 7, 8]];
  const lm = await LM.load(MODEL, { engine });
  const net = await Network.fromSpec(SPEC, { engine });
  const [session, chat, tokenizer] = [await lm.session(), await lm.chat(), await lm.tokenizer()];
  const encoder = await Encoder.load(join(DATA, 'minilm'), { engine });
  const trainer = await Trainer.create(net, [1, 8], { loss: 'mse' });
  const mesh = await StepMesh.create(net, [1, 8]);
  const [state, passes] = [await mesh.state(), await net.session()];
  const calls = {
    'Engine.verify': (o) => engine.verify(o),
    'LM.load': (o) => LM.load(MODEL, { engine, ...o }),
    'LM.generate': (o) => lm.generate('x', o),
    'LM.stream': async (o) => lm.stream('x', o).result,
    'LM.prompt': (o) => lm.prompt('x', o),
    'LM.chat': (o) => lm.chat(o),
    'LM.session': (o) => lm.session(o),
    'LM.logits': (o) => lm.logits('x', o),
    'LM.perplexity': (o) => lm.perplexity('x', o),
    'LM.renderChat': (o) => lm.renderChat([], o),
    'LMSession.generate': (o) => session.generate('x', o),
    'LMSession.stream': async (o) => session.stream('x', o).result,
    'LMSession.feed': (o) => session.feed('x', o),
    'LMSession.logits': (o) => session.logits('x', o),
    'LMSession.tokens': (o) => session.tokens(o),
    'LMSession.rewind': (o) => session.rewind(0, o),
    'LMSession.snapshot': (o) => session.snapshot(o),
    'LMSession.restore': (o) => session.restore(new Uint8Array(8), o),
    'Chat.send': (o) => chat.send('x', o),
    'Chat.stream': async (o) => chat.stream('x', o).result,
    'Tokenizer.load': (o) => Tokenizer.load(MODEL, { engine, ...o }),
    'Tokenizer.encode': (o) => tokenizer.encode('x', o),
    'Tokenizer.decode': (o) => tokenizer.decode([1], o),
    'Encoder.load': (o) => Encoder.load(join(DATA, 'minilm'), { engine, ...o }),
    'Encoder.embed': (o) => encoder.embed('x', o),
    'Network.fromSpec': (o) => Network.fromSpec(SPEC, { engine, ...o }),
    'Network.fromArch': (o) => Network.fromArch({}, { engine, ...o }),
    'Network.fromFile': (o) => Network.fromFile(new Uint8Array(8), { engine, ...o }),
    'Network.graft': (o) => Network.graft([net], o),
    'Network.forward': (o) => net.forward(x, o),
    'Network.session': (o) => net.session(o),
    'Network.save': (o) => net.save(join(work, 'options.entity'), o),
    'Network.toBytes': (o) => net.toBytes(o),
    'Network.morph': (o) => net.morph('float32', o),
    'Network.freeze': (o) => net.freeze(o),
    'Session.forward': (o) => passes.forward(x, o),
    'Trainer.create': (o) => Trainer.create(net, [1, 8], {}, o),
    'Trainer.step': (o) => trainer.step(x, [[0, 0, 0, 0]], o),
    'Trainer.evaluate': (o) => trainer.evaluate(x, [[0, 0, 0, 0]], o),
    'StepMesh.create': (o) => StepMesh.create(net, [1, 8], o),
    'StepMesh.step': (o) => mesh.step(state, o),
    'StepMesh.backward': (o) => mesh.backward(state, [[0, 0, 0, 0]], o),
    'StepMesh.tween': (o) => mesh.tween({}, o),
    'StepState.setInput': (o) => state.setInput(x, o),
    'Graph.load': (o) => Graph.load(relu('x'), { engine, ...o }),
  };
  const declared = readFileSync(join(ROOT, 'js/index.d.ts'), 'utf8');
  const all = [...declared.matchAll(/^export class (\w+)[^]*?\n\}/gm)].flatMap(([text, name]) =>
    [...text.matchAll(/^ {2}(?:static )?(\w+)\((?:[^;]|\n)*?options\??: /gm)].map(([, method]) => `${name}.${method}`),
  );
  const known = new Set(all.filter((name) => !name.startsWith('Loom.'))); // on the calling thread
  assert.deepEqual(Object.keys(calls).sort(), [...known].sort());
  const nothing = () => {};
  for (const [name, run] of Object.entries(calls)) {
    await rejects(run({ colour: 1 }), 'UnknownKey', /"colour"/);
    if (name !== 'LM.load') await rejects(run({ onProgress: nothing }), 'UnknownKey', /"onProgress"/);
    if (!/generate|stream|send/.test(name)) await rejects(run({ onToken: nothing }), 'UnknownKey', /"onToken"/);
    await rejects(run({ engine: 3 }), /load|from|graft|create/.test(name) ? 'TypeMismatch' : /./, /engine/);
    if (!/verify|save/.test(name)) await rejects(run({ signal: 3 }), 'TypeMismatch', /signal/);
  }
  const other = await createEngine({ ...(engine.kind === 'native' ? { kind: 'native' } : engine.options) });
  await rejects(Trainer.create(net, [1, 8], {}, { engine: other }), 'InvalidArgument', /lives in another engine/);
  other.dispose();
});

test('the shared engine takes no other options once it runs', { skip: engines().native.skip }, async () => {
  await initLoom({ kind: 'native', threads: 1 });
  const net = await Network.fromSpec(SPEC);
  await initLoom({ kind: 'native' });
  await rejects(initLoom({ threads: 2 }), 'InvalidState', /would change threads of the shared engine/);
  net.engine.dispose();
  await initLoom({ threads: 2 });
  await rejects(initLoom({ kind: 'wasm', library: 'x.so' }), 'InvalidArgument', /library/);
});

withEngine('every option of an answer reaches generate()', async (engine) => {
  const lm = await LM.load(MODEL, { engine });
  const ids = async (options) => (await lm.generate(QUESTION, { maxTokens: 3, ...options })).ids;
  const [first] = await ids({});
  assert.notEqual((await ids({ logitBias: { [first]: -100 } }))[0], first);
  assert.notEqual((await ids({ logitBias: new Map([[first, -100]]) }))[0], first);
  for (const id of ['', ' 7 ', '0x10', '1e1', '-1'])
    await rejects(ids({ logitBias: { [id]: 1 } }), 'TypeMismatch', /token id/);
  await rejects(ids({ logitBias: new Map([[null, 1]]) }), 'TypeMismatch', /token id/);
  assert.deepEqual(await ids({ maxTokens: 0n }), []);
  assert.equal((await ids({ maxTokens: 2n })).length, 2);
  const drawn = { seed: 2n ** 64n - 1n, temperature: 1 };
  assert.deepEqual(await ids(drawn), await ids(drawn));
  assert.equal((await (await lm.session({ threads: 1n })).info()).threads, 1);
});

withEngine('names that every object has are no options', async (engine) => {
  const lm = await LM.load(MODEL, { engine });
  for (const name of ['toString', 'constructor', 'hasOwnProperty'])
    await rejects(lm.generate(QUESTION, { [name]: 5 }), 'UnknownKey', new RegExp(name));
  await rejects(lm.generate(QUESTION, JSON.parse('{"__proto__": {}}')), 'UnknownKey', /__proto__/);
  await rejects(lm.generate(QUESTION, { form: 1n }), 'InvalidArgument', /form is 1/);
  await rejects(lm.generate(QUESTION, { date: new Date(NaN) }), 'InvalidArgument', /date/);
  await rejects(engine.verify({ colour: 1 }), 'UnknownKey', /colour/);
  assert.deepEqual((await lm.generate(QUESTION, null)).hash, HASH);
  const net = await Network.fromSpec(SPEC, { engine });
  await rejects(net.save(join(work, 'odd.entity'), { format: 'json' }), 'UnknownKey', /format/);
  await rejects(net.save(join(work, 'odd.entity'), { overwrite: 'no' }), 'TypeMismatch', /overwrite/);
  await rejects(Network.fromSpec({ $object: 1 }, { engine }), 'UnknownKey', /\$object/);
  await rejects(Network.fromArch({}, { engine, strict: false }), 'UnknownKey', /strict/);
});

withEngine('what cannot be JSON or UTF-8 is named', async (engine) => {
  const lm = await LM.load(MODEL, { engine });
  const circle = { type: 'object' };
  circle.properties = { circle };
  for (const schema of [circle, { minimum: 1n }]) {
    const error = await lm.generate(QUESTION, { schema }).catch((each) => each);
    assert.equal(error.code, 'TypeMismatch');
    assert.match(error.message, /^schema .*$/);
  }
  await rejects(Network.fromSpec({ seed: 3n, layers: [] }, { engine }), 'TypeMismatch', /spec/);
  for (const options of [{ stop: 'a\ud800' }, { choices: ['\udc00a'] }, { regex: '\ud83d' }])
    await rejects(lm.generate(QUESTION, options), 'InvalidArgument', /half of a character/);
  const asText = await lm.prompt('half \ud83d of it');
  assert.deepEqual((await lm.prompt([{ role: 'user', content: 'half \ud83d of it' }])).ids, asText.ids);
  assert.deepEqual((await lm.prompt('half \ufffd of it')).ids, asText.ids);
});

withEngine('whole numbers that an input cannot hold are refused', async (engine) => {
  const net = await Network.fromSpec(SPEC, { engine });
  const trainer = await Trainer.create(net, [1, 8], { loss: 'cross_entropy' });
  const step = (classes) => trainer.step([[1, 2, 3, 4, 5, 6, 7, 8]], null, { classes });
  for (const wrong of [[0.5], [NaN], new Float32Array([1.7])]) await rejects(step(wrong), 'TypeMismatch', /classes/);
  for (const wrong of [[2 ** 32 + 1], new Uint32Array([2 ** 32 - 1])])
    await rejects(step(wrong), 'OutOfRange', /classes/);
  for (const right of [[1], [1n], [true], new Uint8Array([1]), new Float32Array([1]), new BigInt64Array([1n])])
    assert.equal((await step(right)).skipped, false);
  const y = await net.forward([[1, 2, 3, 4, 5, 6, 7, 8]]);
  assert.deepEqual((await net.forward([[1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n]])).data, y.data);
});

withEngine('a listener that throws ends its call with that error', async (engine) => {
  const lm = await LM.load(MODEL, { engine });
  const mine = new Error('the listener failed');
  const onToken = () => {
    throw mine;
  };
  await assert.rejects(lm.generate(QUESTION, { onToken }), mine);
  const stream = lm.stream(QUESTION, { onToken });
  await assert.rejects(async () => {
    for await (const _ of stream);
  }, mine);
  assert.equal((await lm.generate(QUESTION)).hash, HASH);
});

withEngine('an abort ends a read that never ends, and the engine goes on', async (engine) => {
  const controller = new AbortController();
  const read = () => {
    setTimeout(() => controller.abort(), 20);
    return new Promise(() => {});
  };
  await rejects(LM.load({ size: 1e6, read }, { engine, signal: controller.signal }), 'Cancelled');
  assert.equal((await engine.info()).objects, 0);
});

/** Writes a low-rank adapter of SmolLM2-135M that changes its answers. */
function writeAdapter(folder) {
  mkdirSync(folder, { recursive: true });
  const config = { peft_type: 'LORA', task_type: 'CAUSAL_LM', r: 1, lora_alpha: 8, bias: 'none' };
  Object.assign(config, { target_modules: ['q_proj', 'o_proj'], layers_to_transform: [0] });
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(config));
  const width = 576;
  const tensors = {};
  const parts = [];
  for (const matrix of ['q_proj', 'o_proj']) {
    for (const [part, shape] of [
      ['A', [1, width]],
      ['B', [width, 1]],
    ]) {
      const begin = parts.length * width * 4;
      const name = `base_model.model.model.layers.0.self_attn.${matrix}.lora_${part}.weight`;
      tensors[name] = { dtype: 'F32', shape, data_offsets: [begin, begin + width * 4] };
      parts.push(Buffer.from(Float32Array.from({ length: width }, (_, i) => ((i * 37) % 19) / 9 - 1).buffer));
    }
  }
  const text = JSON.stringify(tensors);
  const header = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(join(folder, 'adapter_model.safetensors'), Buffer.concat([size, header, ...parts]));
}

withEngine(
  'a chat that is forked keeps its choice of adapters',
  async (engine) => {
    writeAdapter(join(work, 'adapter'));
    const lm = await LM.load(MODEL, { engine, adapters: [join(work, 'adapter')] });
    const answers = [];
    for (const adapters of [undefined, []]) {
      const chat = await lm.chat({ adapters, maxTokens: 8 });
      const copy = await (await chat.fork()).fork();
      answers.push((await chat.send(QUESTION)).hash);
      assert.equal((await copy.send(QUESTION)).hash, answers.at(-1));
    }
    assert.notEqual(answers[0], answers[1]);
  },
  ['native'],
);

/** An ONNX model of one Relu, whose input has this name, as protobuf. */
function relu(name) {
  const field = (number, value) => {
    if (typeof value === 'number') return [number << 3, value];
    const bytes = typeof value === 'string' ? [...Buffer.from(value)] : value.flat();
    return [(number << 3) | 2, bytes.length, ...bytes];
  };
  const shape = field(2, [field(1, field(1, 2))]);
  const info = (each) => [field(1, each), field(2, field(1, [field(1, 1), shape]))];
  const node = [field(1, name), field(2, 'y'), field(4, 'Relu')];
  const graph = [field(1, node), field(2, 'relu'), field(11, info(name)), field(12, info('y'))];
  return Uint8Array.from([field(1, 8), field(7, graph), field(8, field(2, 17))].flat());
}

withEngine('an input of a graph may be called data', async (engine) => {
  const graph = await Graph.load(relu('data'), { engine });
  const numbers = new Float32Array([-1, 2]);
  for (const inputs of [{ data: numbers }, { data: [-1, 2] }, { data: numbers, shape: [2] }, numbers, [-1, 2]])
    assert.deepEqual([...(await graph.forward(inputs)).y.data], [0, 2]);
  await rejects(graph.forward({ x: numbers }), 'UnknownKey', /data/);
});

withEngine('memory stays flat over 1 000 networks', async (engine) => {
  const spec = { seed: 1, layers: [{ type: 'dense', input_height: 160, output_height: 160 }] };
  const x = new Tensor(new Float32Array(160), [1, 160]);
  const round = async () => {
    const net = await Network.fromSpec(spec, { engine });
    await net.forward(x);
    await net.dispose();
  };
  for (let i = 0; i < 100; i++) await round();
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 1000; i++) await round();
  const grown = process.memoryUsage().rss - before;
  assert.equal((await engine.info()).objects, 0);
  assert.ok(grown < 40 << 20, `${grown >> 20} MiB more after 1 000 networks of 0.1 MiB`);
});

test('an engine that is disposed gives its memory back', { skip: engines().native.skip }, async () => {
  const round = async () => {
    const engine = await createEngine({ kind: 'native' });
    const lm = await LM.load(MODEL, { engine });
    const call = lm.generate(QUESTION, { maxTokens: 20 });
    setTimeout(() => engine.dispose(), 30);
    await rejects(call, 'Disposed');
  };
  for (let i = 0; i < 3; i++) await round();
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 8; i++) await round();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 250 << 20, `${grown >> 20} MiB more after 8 engines with a model of some 120 MiB`);
});

test('a worker that is killed leaves no memory of the native library', { skip: engines().native.skip }, async () => {
  let worker;
  process.on('worker', (each) => (worker = each));
  const round = async () => {
    const engine = await createEngine({ kind: 'native' });
    const lm = await LM.load(MODEL, { engine });
    const chat = await lm.chat({ maxTokens: 400 });
    const call = chat.send('Tell me a long story.');
    setTimeout(() => worker.terminate(), 50);
    await rejects(call, 'EngineLost');
  };
  for (let i = 0; i < 3; i++) await round();
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 6; i++) await round();
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 250 << 20, `${grown >> 20} MiB more after 6 workers with a model of some 120 MiB`);
});

withEngine(
  'an abort ends embed(), perplexity() and a step of training while C computes',
  async (engine, options, kind) => {
    const sentence = 'The quick brown fox jumps over the lazy dog near the river bank. ';
    const encoder = await Encoder.load(join(DATA, 'minilm'), { engine });
    const lm = await LM.load(MODEL, { engine });
    const wide = { seed: 1, layers: Array(24).fill({ type: 'dense', in_features: 2048, out_features: 2048 }) };
    const net = await Network.fromSpec(wide, { engine });
    const trainer = await Trainer.create(net, [256, 2048], { loss: 'mse', learning_rate: 0.1 });
    const batch = new Tensor(new Float32Array(256 * 2048).fill(0.5), [256, 2048]);
    const hash = await net.hash();
    const calls = {
      embed: (o) => encoder.embed(Array(400).fill(sentence.repeat(8)), o),
      perplexity: (o) => lm.perplexity(sentence.repeat(2000), o),
      step: (o) => trainer.step(batch, batch, o),
    };
    for (const [name, run] of Object.entries(calls)) {
      const controller = new AbortController();
      const call = run({ signal: controller.signal });
      setTimeout(() => controller.abort(), 100);
      await rejects(call, 'Cancelled');
      const begun = performance.now();
      await engine.info();
      await encoder.info(); // takes its turn after embed()
      const waited = performance.now() - begun;
      assert.ok(waited < 2000, `${kind}: the engine was busy for ${Math.round(waited)} ms after the abort of ${name}()`);
    }
    assert.equal(await net.hash(), hash);
    assert.deepEqual((await encoder.embed(sentence)).data, (await encoder.embed([sentence])).data);
    // The abort of a call that waits does not end the one that runs.
    const waiting = new AbortController();
    const short = lm.perplexity(sentence.repeat(40), { window: 256, signal: new AbortController().signal });
    const queued = lm.perplexity(sentence.repeat(40), { window: 256, signal: waiting.signal });
    setTimeout(() => waiting.abort(), 50);
    await rejects(queued, 'Cancelled');
    assert.deepEqual(await short, await lm.perplexity(sentence.repeat(40), { window: 256 }));
  },
  ['native', 'wasm_threads'],
);

withEngine('a worker that is killed rejects its calls, and a new engine works', async (engine, options) => {
  const workers = [];
  process.on('worker', (worker) => workers.push(worker));
  const dying = await createEngine(options);
  const net = await Network.fromSpec(SPEC, { engine: dying });
  const lm = await LM.load(MODEL, { engine: dying });
  const call = lm.generate('Tell me a long story.', { maxTokens: 400, minTokens: 300 });
  setTimeout(() => workers[0].terminate(), 50);
  await rejects(call, 'EngineLost', /worker is gone/);
  await rejects(net.hash(), 'EngineLost');
  assert.equal(dying.isClosed, true);
  assert.equal((await (await Network.fromSpec(SPEC, { engine })).hash()).length, 64);
});

test(
  'a hub id is found in the cache, then below baseUrl; else one line says how to fetch it',
  { skip: process.env.WELVET_LIBRARY ? false : 'WELVET_LIBRARY is not set' },
  async () => {
    const saved = { ...process.env };
    try {
      process.env.HF_HOME = join(work, 'hf');
      delete process.env.HF_HUB_CACHE;
      const loom = await initLoom({ kind: 'native' });
      assert.throws(
        () => loom.Generate('x', 1),
        (error) => error.code === 'NotLoaded',
      );
      await rejects(loom.LoadTransformer('someone/model'), 'NotFound', /loom pull someone\/model, or hf download someone\/model$/);
      const snapshot = join(work, 'hf/hub/models--someone--model/snapshots/abc');
      mkdirSync(snapshot, { recursive: true });
      symlinkSync(MODEL, join(snapshot, 'model.gguf'));
      await loom.LoadTransformer('someone/model');
      assert.equal(loom.Generate(QUESTION, 50), ANSWER);
      mkdirSync(join(work, 'base/other'), { recursive: true });
      symlinkSync(MODEL, join(work, 'base/other/model.gguf'));
      const based = await initLoom({ kind: 'native', baseUrl: join(work, 'base') });
      await based.LoadTransformer('other/model');
      assert.equal(based.Generate(QUESTION, 50), ANSWER);
      assert.equal(based.last.hash, HASH);
    } finally {
      Object.assign(process.env, saved);
    }
  },
);

test('the refused endings are those of the C library', () => {
  const source = readFileSync(join(ROOT, 'src/io/output_file.cpp'), 'utf8');
  const lists = [...source.matchAll(/\{((?:"\.\w+"(?:, )?)+)\}|kOthers\[\] = \{([^}]*)\}/g)];
  const endings = new Set(lists.flatMap(([all]) => [...all.matchAll(/"\.(\w+)"/g)].map(([, ending]) => ending)));
  for (const ending of ['entity', 'json']) assert.ok(endings.delete(ending), ending); // of networks
  const [, refused] = /\(([^)]*)\)/.exec(OTHER_ENDINGS.source);
  assert.deepEqual(refused.split('|').sort(), [...endings].sort());
});

test('a module that cannot be read is named; its path may be relative', async () => {
  const module = join(work, 'none.wasm');
  await rejects(createEngine({ kind: 'wasm', module }), 'NotFound', /none\.wasm: the module cannot be read: ENOENT/);
  writeFileSync(module, 'no module');
  await rejects(createEngine({ kind: 'wasm', module }), 'CorruptData', /none\.wasm: no module of WebAssembly/);
  const near = relative(process.cwd(), module);
  await rejects(createEngine({ kind: 'wasm', module: near }), 'CorruptData', /none\.wasm: no module of WebAssembly/);
});

const lmModule = join(WASM, 'loom-lm.wasm');
const skipLm = existsSync(lmModule) ? false : `there is no ${lmModule}: build the preset wasm`;
test('loom-lm.wasm has what models and encoders call, and names what it lacks', { skip: skipLm }, async () => {
  const module = await WebAssembly.compile(readFileSync(lmModule));
  const exported = new Set(WebAssembly.Module.exports(module).map(({ name }) => name));
  const called = new Set(['loom_version', 'loom_system_info', 'loom_gpu_report', 'loom_js_alloc', 'loom_js_free']);
  for (const part of ['answer', 'chat', 'encoder', 'library', 'lm', 'lm_session', 'owner', 'tokenizer']) {
    const text = readFileSync(join(ROOT, `js/src/engine/${part}.js`), 'utf8');
    for (const [, name] of text.matchAll(/['`](loom_[a-z_$\{}]+)['`]/g)) {
      for (const kind of ['generator', 'chat']) called.add(name.replace('${kind}', kind));
    }
  }
  assert.ok(called.has('loom_chat_next') && called.size > 50, [...called].join(' '));
  assert.deepEqual([...called].filter((name) => !exported.has(name)), []);
  const engine = await createEngine({ kind: 'wasm', threads: 1, module: `file://${lmModule}` });
  await rejects(Network.fromSpec(SPEC, { engine }), 'NotFound', /no function loom_network_.* alone; loom.wasm has all/);
  engine.dispose();
});
