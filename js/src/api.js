// The public classes: their objects live in an engine, their calls return promises.
import { describe } from './describe.js';
import { defaultEngine, Engine, getPlatform, registerTypes, Remote } from './engine.js';
import { read, truth } from './engine/options.js';
import { LoomError, mismatch } from './errors.js';
import { AnswerStream } from './stream.js';

/** Endings of other formats; the C library refuses the same ones (src/io/output_file.cpp; a test compares the lists). */
export const OTHER_ENDINGS = /\.(gguf|svg|html|htm|npy|npz|onnx|safetensors|csv|tsv|pt|pth|pkl|h5|keras)$/i;

function checkEnding(path) {
  const [ending] = OTHER_ENDINGS.exec(path) ?? [];
  if (ending === undefined) return;
  const told = `${path}: a file that ends in ${ending} is no network; expected .entity or .json`;
  throw new LoomError('InvalidArgument', told);
}

/** Refuses to replace a file with these bytes that holds no network. */
function checkReplaces(path, bytes) {
  if (bytes.length === 0) return;
  const text = new TextDecoder().decode(bytes.subarray(0, 8));
  let holds = text === 'ENTITY\0\0';
  if (!holds && /^\s*\{/.test(text)) {
    try {
      holds = Array.isArray(JSON.parse(new TextDecoder().decode(bytes)).layers);
    } catch {
      holds = false;
    }
  }
  if (holds) return;
  throw new LoomError('InvalidArgument', `${path}: exists and is no network; not overwritten without overwrite`);
}

/** Separates what stays on this side from the options of the engine. */
function split(options) {
  const { signal, onProgress, onToken, engine, ...rest } = options ?? {};
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw new LoomError('TypeMismatch', 'signal must be an AbortSignal');
  }
  for (const [name, value] of Object.entries({ onProgress, onToken })) {
    if (value !== undefined && typeof value !== 'function')
      throw new LoomError('TypeMismatch', `${name} must be a function`);
  }
  if (engine !== undefined && !(engine instanceof Engine)) throw mismatch('engine', 'an Engine', engine);
  return { more: { signal, onProgress }, onToken, engine, rest };
}

function refuse(value, name, call) {
  if (value !== undefined) throw new LoomError('UnknownKey', `${call} has no option "${name}"`);
}

async function open(method, source, options) {
  const { more, onToken, engine = defaultEngine(options?.device), rest } = split(options);
  refuse(onToken, 'onToken', `${method}()`);
  if (method !== 'LM.load') refuse(more.onProgress, 'onProgress', `${method}()`);
  const { described, reader } = await describe(source);
  return engine.call(0, method, [described, rest], { ...more, reader });
}

async function make(method, args, options) {
  const { more, onToken, engine, rest } = split(options);
  refuse(onToken, 'onToken', `${method}()`);
  refuse(more.onProgress, 'onProgress', `${method}()`);
  const home = engine ?? args.find((arg) => arg instanceof Remote)?.engine ?? defaultEngine();
  return home.call(0, method, [...args, rest], more);
}

/** A call of a method with options as its last argument. */
async function call(remote, method, args, options) {
  const { more, onToken, engine, rest } = split(options);
  refuse(onToken, 'onToken', `${method}()`);
  refuse(more.onProgress, 'onProgress', `${method}()`);
  refuse(engine, 'engine', `${method}()`);
  return remote.invoke(method, [...args, rest], more);
}

function answer(remote, method, args, options) {
  const { more, onToken, engine, rest } = split(options);
  refuse(more.onProgress, 'onProgress', `${method}()`);
  refuse(engine, 'engine', `${method}()`);
  return new AnswerStream(remote, method, [...args, rest], { signal: more.signal, onToken });
}

export class LM extends Remote {
  static load(source, options) {
    return open('LM.load', source, options);
  }

  async generate(prompt, options) {
    return answer(this, 'generate', [prompt], options).result;
  }

  stream(prompt, options) {
    return answer(this, 'generate', [prompt], options);
  }

  prompt(prompt, options) {
    return call(this, 'prompt', [prompt], options);
  }

  chat(options) {
    return call(this, 'chat', [], options);
  }

  session(options) {
    return call(this, 'session', [], options);
  }

  logits(prompt, options) {
    return call(this, 'logits', [prompt], options);
  }

  perplexity(text, options) {
    return call(this, 'perplexity', [text], options);
  }

  renderChat(messages, options) {
    return call(this, 'renderChat', [messages], options);
  }

  tokenizer() {
    return this.invoke('tokenizer');
  }

  info() {
    return this.invoke('info');
  }

  adapters() {
    return this.invoke('adapters');
  }
}

export class LMSession extends Remote {
  async generate(prompt, options) {
    return answer(this, 'generate', [prompt], options).result;
  }

  stream(prompt, options) {
    return answer(this, 'generate', [prompt], options);
  }

  feed(prompt, options) {
    return call(this, 'feed', [prompt], options);
  }

  logits(prompt, options) {
    return call(this, 'logits', [prompt], options);
  }

  tokens(options) {
    return call(this, 'tokens', [], options);
  }

  rewind(length, options) {
    return call(this, 'rewind', [length], options);
  }

  fork(source, target) {
    return this.invoke('fork', [source, target]);
  }

  snapshot(options) {
    return call(this, 'snapshot', [], options);
  }

  restore(snapshot, options) {
    return call(this, 'restore', [snapshot], options);
  }

  chooseAdapters(adapters) {
    return this.invoke('chooseAdapters', [adapters]);
  }

  info() {
    return this.invoke('info');
  }
}

export class Chat extends Remote {
  async send(text, options) {
    return this.stream(text, options).result;
  }

  stream(text, options) {
    if (text === undefined) throw mismatch('the message', 'a text, or null to answer the messages as they stand', text);
    return answer(this, 'send', [text], options);
  }

  messages() {
    return this.invoke('messages');
  }

  setMessages(messages) {
    return this.invoke('setMessages', [messages]);
  }

  rewind(count) {
    return this.invoke('rewind', [count]);
  }

  edit(index, text) {
    return this.invoke('edit', [index, text]);
  }

  save() {
    return this.invoke('save');
  }

  load(saved) {
    return this.invoke('load', [saved]);
  }

  fork() {
    return this.invoke('fork');
  }

  receipt() {
    return this.invoke('receipt');
  }
}

export class Tokenizer extends Remote {
  static load(source, options) {
    return open('Tokenizer.load', source, options);
  }

  encode(text, options) {
    return call(this, 'encode', [text], options);
  }

  decode(ids, options) {
    return call(this, 'decode', [ids], options);
  }

  idOf(token) {
    return this.invoke('idOf', [token]);
  }

  token(id) {
    return this.invoke('token', [id]);
  }

  vocabSize() {
    return this.invoke('vocabSize');
  }
}

export class Encoder extends Remote {
  static load(source, options) {
    return open('Encoder.load', source, options);
  }

  embed(texts, options) {
    return call(this, 'embed', [texts], options);
  }

  tokenizer() {
    return this.invoke('tokenizer');
  }

  info() {
    return this.invoke('info');
  }

  receipt() {
    return this.invoke('receipt');
  }
}

export class Network extends Remote {
  static fromSpec(spec, options) {
    return make('Network.fromSpec', [spec], options);
  }

  static fromArch(config, options) {
    return make('Network.fromArch', [config], options);
  }

  static fromFile(source, options) {
    return open('Network.fromFile', source, options);
  }

  static graft(networks, options) {
    return make('Network.graft', [networks], { engine: networks?.[0]?.engine, ...options });
  }

  forward(x, options) {
    return call(this, 'forward', [x], options);
  }

  session(options) {
    return call(this, 'session', [], options);
  }

  weights() {
    return this.invoke('weights');
  }

  get(name) {
    return this.invoke('get', [name]);
  }

  set(name, values) {
    return this.invoke('set', [name, values]);
  }

  /** Writes the network: a path in Node, a name in the origin's private files on a page. */
  async save(path, options) {
    const known = { keepMaster: truth, overwrite: truth };
    const { overwrite = false, keepMaster = false } = read(options, known, 'save()');
    const format = /\.json$/i.test(String(path)) ? 'json' : 'entity';
    checkEnding(String(path));
    await getPlatform().save(path, await this.toBytes({ format, keepMaster }), overwrite ? undefined : checkReplaces);
  }

  toBytes(options) {
    return call(this, 'toBytes', [], options);
  }

  clone() {
    return this.invoke('clone');
  }

  spec() {
    return this.invoke('spec');
  }

  info() {
    return this.invoke('info');
  }

  blueprint() {
    return this.invoke('blueprint');
  }

  hash() {
    return this.invoke('hash');
  }

  draw(title) {
    return this.invoke('draw', [title]);
  }

  prepare(shape) {
    return this.invoke('prepare', [shape]);
  }

  place(address, layer) {
    return this.invoke('place', [address, layer]);
  }

  morph(dtype, options) {
    return call(this, 'morph', [dtype], options);
  }

  freeze(options) {
    return call(this, 'freeze', [], options);
  }
}

export class Session extends Remote {
  forward(x, options) {
    return call(this, 'forward', [x], options);
  }

  bind(shape) {
    return this.invoke('bind', [shape]);
  }

  run() {
    return this.invoke('runBound');
  }

  backward(outputGradient) {
    return this.invoke('backward', [outputGradient]);
  }

  gradient(weight) {
    return this.invoke('gradient', [weight]);
  }

  clearGradients() {
    return this.invoke('clearGradients');
  }

  reset() {
    return this.invoke('reset');
  }

  rewind(length) {
    return this.invoke('rewind', [length]);
  }

  snapshot() {
    return this.invoke('snapshot');
  }

  restore(snapshot) {
    return this.invoke('restore', [snapshot]);
  }

  info() {
    return this.invoke('info');
  }
}

export class Trainer extends Remote {
  /** Keys of `config` are those of docs/guide/training.md. */
  static create(network, shape, config, options) {
    return make('Trainer.create', [network, shape, config ?? {}], options);
  }

  step(inputs, targets, options) {
    return call(this, 'step', [inputs, targets], options);
  }

  evaluate(inputs, targets, options) {
    return call(this, 'evaluate', [inputs, targets], options);
  }

  setEpoch(epoch) {
    return this.invoke('setEpoch', [epoch]);
  }

  observe(metric) {
    return this.invoke('observe', [metric]);
  }

  info() {
    return this.invoke('info');
  }
}

export class StepMesh extends Remote {
  static create(network, shape, options) {
    return make('StepMesh.create', [network, shape], options);
  }

  state() {
    return this.invoke('state');
  }

  step(states, options) {
    return call(this, 'step', [states], options);
  }

  backward(state, outputGradient, options) {
    return call(this, 'backward', [state, outputGradient], options);
  }

  gradient(weight) {
    return this.invoke('gradient', [weight]);
  }

  clearGradients() {
    return this.invoke('clearGradients');
  }

  tween(config, options) {
    return call(this, 'tween', [config ?? {}], options);
  }

  info() {
    return this.invoke('info');
  }
}

export class StepState extends Remote {
  setInput(x, options) {
    return call(this, 'setInput', [x], options);
  }

  clearInput() {
    return this.invoke('clearInput');
  }

  output(cell) {
    return this.invoke('output', [cell]);
  }

  reset() {
    return this.invoke('reset');
  }

  fork() {
    return this.invoke('fork');
  }

  snapshot() {
    return this.invoke('snapshot');
  }

  restore(snapshot) {
    return this.invoke('restore', [snapshot]);
  }

  hash() {
    return this.invoke('hash');
  }

  ticks() {
    return this.invoke('ticks');
  }
}

export class MeshTween extends Remote {
  step(states, targets, learningRate) {
    return this.invoke('step', [states, targets, learningRate]);
  }
}

export class Graph extends Remote {
  static load(source, options) {
    return open('Graph.load', source, options);
  }

  forward(inputs) {
    return this.invoke('forward', [inputs]);
  }

  info() {
    return this.invoke('info');
  }
}

/**
 * Copies a model into the private files of the page, from which LM.load() opens it by that name, and computes its SHA-256
 * on the way.
 */
export async function storeModel(name, source, options) {
  const { more, onToken, engine = defaultEngine(), rest } = split(options);
  refuse(onToken, 'onToken', 'storeModel()');
  store();
  const { described, reader } = await describe(source);
  return engine.call(0, 'storeModel', [described, name, rest], { ...more, reader });
}

/** What storeModel() has kept. */
export async function storedModels() {
  return (await store()).storedModels();
}

export async function removeModel(name) {
  return (await store()).removeModel(name);
}

function store() {
  const { store: open } = getPlatform();
  if (open !== undefined) return open();
  throw new LoomError('Unsupported', 'models are kept in the private files of a page; in Node they are files');
}

registerTypes({
  LM,
  LMSession,
  Chat,
  Tokenizer,
  Encoder,
  Network,
  Session,
  Trainer,
  StepMesh,
  StepState,
  MeshTween,
  Graph,
});
