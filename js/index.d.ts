// Types of @openfluke/welvet. docs/guide/javascript.md is the way in.

/** Codes of a LoomError: the statuses of the C interface, then those of this package. */
export type ErrorCode =
  | 'InvalidArgument'
  | 'InvalidConfig'
  | 'ShapeMismatch'
  | 'SizeOverflow'
  | 'OutOfRange'
  | 'IndexOutOfRange'
  | 'NonFinite'
  | 'UnknownName'
  | 'UnknownKey'
  | 'NotFound'
  | 'IoError'
  | 'DiskFull'
  | 'CorruptData'
  | 'Unsupported'
  | 'OutOfMemory'
  | 'ContextFull'
  | 'NoTemplate'
  | 'TemplateError'
  | 'LimitExceeded'
  | 'LinkCycle'
  | 'EmptyTensor'
  | 'FeedbackLink'
  | 'LinkToEmpty'
  | 'NestingTooDeep'
  | 'InvalidState'
  | 'NoValue'
  | 'NoHistory'
  | 'LossySave'
  | 'Busy'
  | 'BadHandle'
  | 'DeviceLost'
  | 'Cancelled'
  | 'Disposed'
  | 'EngineLost'
  | 'NotLoaded'
  | 'ReadFailed'
  | 'TypeMismatch';

/** Error of a call. An aborted one has the name "AbortError" and the code "Cancelled". */
export class LoomError extends Error {
  constructor(code: ErrorCode, message: string, more?: { cause?: unknown; status?: number });
  readonly code: ErrorCode;
  /** The number of the C interface's status; 0 for codes of this package. */
  readonly status: number;
}

/** Anything that is JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** Values with a shape, row-major. */
export class Tensor<Data extends TypedArray = Float32Array> {
  constructor(data: Data, shape: number[]);
  readonly data: Data;
  readonly shape: number[];
  /** Nested lists of numbers. */
  toArray(): unknown;
}

/** Nested lists of numbers. */
export type Nested = number | boolean | bigint | readonly Nested[];
/** Numbers that go in: nested lists, a typed array of one axis, values with a shape. */
export type Numbers = Nested | TypedArray | { data: TypedArray; shape: readonly number[] };

/** An object that gives bytes of a source; read() may return a promise. */
export interface Reader {
  readonly size: number;
  read(offset: number, length: number): Uint8Array | Promise<Uint8Array>;
}

/**
 * Where a model or a network comes from: a path (Node), an address (page), a hub id, a Blob or File, a handle of the
 * origin's private files, bytes, the files of a folder by name, or an object that reads.
 */
export type Source =
  | string
  | URL
  | Blob
  | ArrayBuffer
  | Uint8Array
  | { getFile(): Promise<Blob> }
  | Reader
  | { [name: string]: string | Blob | ArrayBuffer | Uint8Array };

/** Options of an engine. */
export interface EngineOptions {
  /** "auto": the native library where Node has one and koffi is installed, else WebAssembly. */
  kind?: 'auto' | 'native' | 'wasm';
  /** Threads of a call, 1 to 256. No result depends on it. One where a page is not cross-origin isolated. */
  threads?: number;
  /** loom.wasm: its address or (Node) path, bytes or compiled module. */
  module?: string | URL | ArrayBuffer | WebAssembly.Module;
  /** loom-threads.wasm, for more than one thread. */
  threadsModule?: string | URL | ArrayBuffer | WebAssembly.Module;
  /** Path of the native library. */
  library?: string;
  /** Address of the worker's script, where a bundler moves it. */
  worker?: string | URL;
  /** Folder (Node) or address (page) that has models by their hub ids. */
  baseUrl?: string | URL;
  /** On an isolated page: opens the graphics card, which the option device then names. */
  gpu?: boolean;
}

/** What an engine is. */
export interface EngineInfo {
  kind: 'native' | 'wasm';
  threads: number;
  version: string;
  system: { [key: string]: Json };
  /** Objects that live in the engine. */
  objects: number;
}

/** An engine in a worker of its own. Objects of one engine share its memory and end with it. */
export class Engine {
  private constructor();
  readonly kind: 'native' | 'wasm' | undefined;
  readonly threads: number | undefined;
  readonly isClosed: boolean;
  readonly started: Promise<{ kind: 'native' | 'wasm'; threads: number }>;
  info(): Promise<EngineInfo>;
  /** Graphics cards that the option device can name. */
  gpuReport(): Promise<{ [key: string]: Json }>;
  /** SHA-256 of the golden set, equal on every machine. */
  verify(options?: ComputeOptions & Abortable): Promise<string>;
  /** Ends the worker and every object in it. */
  dispose(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts an engine; without one, calls use an engine that they share. An option that the engine would not read, as
 * `library` with kind "wasm", is refused. */
export function createEngine(options?: EngineOptions): Promise<Engine>;

/** Sets options of the shared engine, before it runs, and returns the object of the first program. */
export function initLoom(options?: EngineOptions): Promise<Loom>;

/**
 * One language model on the calling thread. LM is the class for pages: Generate() returns when the answer is complete.
 */
export class Loom {
  private constructor();
  /** The last answer. */
  readonly last: Generation | undefined;
  LoadTransformer(source: Source, options?: Omit<LoadOptions, 'engine' | 'signal'>): Promise<void>;
  /** Answers a prompt; returns the text. */
  Generate(
    prompt: Prompt,
    maxTokens?: number,
    options?: Omit<GenerateOptions, 'maxTokens' | 'signal' | 'onToken'>,
  ): string;
  dispose(): void;
}

export interface Abortable {
  /** Aborts the call: it rejects with the code "Cancelled". */
  signal?: AbortSignal;
}

export interface InEngine {
  /** Engine that the object lives in; by default the shared one. */
  engine?: Engine;
}

/** Where something runs. No result depends on it, but for precision "fast". */
export interface ComputeOptions {
  threads?: number;
  /** Instruction set, as "avx2"; the best one by default. */
  isa?: string;
  /** "cpu" (the default), "auto", or a card of gpuReport(), as "gpu". */
  device?: string;
  /** "fast": a graphics card need not be exact. */
  precision?: 'strict' | 'fast';
}

/** Options of LM.load(). Those of ComputeOptions are those of its sessions. */
export interface LoadOptions extends ComputeOptions, Abortable, InEngine {
  /** Numeric type that the matrices are quantised to, as "int8". */
  dtype?: string;
  /** Longest sequence in tokens; by default that of the model's training, at most 4096. */
  contextLength?: number;
  /** Folders of low-rank adapters as PEFT writes them. */
  adapters?: string[];
  /** Called with the part that is loaded, from 0 to 1. */
  onProgress?: (fraction: number) => void;
}

export interface Message {
  role: string;
  content: string;
  [key: string]: unknown;
}

/** A text, a conversation, or token ids. */
export type Prompt = string | Uint8Array | Message[] | number[] | Int32Array;

/** How the tokens of an answer are chosen, and what a chat template writes. */
export interface AnswerOptions {
  /** Most tokens of the answer; 128 by default; 0: the prompt is read and no token is drawn. */
  maxTokens?: number;
  minTokens?: number;
  /** 0 takes the most likely token each time; above 0 tokens are drawn, and equal seeds draw equal tokens. */
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  typicalP?: number;
  repetitionPenalty?: number;
  /** Tokens that the penalties look back on; 64 by default; -1: all. */
  repetitionWindow?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  ignoreEos?: boolean;
  /** Texts that end the answer and are not part of it. */
  stop?: string | string[];
  stopIds?: number[];
  /** Numbers that are added to logits, by token id. */
  logitBias?: { [id: number]: number } | Map<number, number>;
  /** Number of the best tokens of each draw that Generation.logprobs holds. */
  logprobs?: number;
  seed?: number | bigint;
  /** Drafts several tokens at once, for the same answer in less time. */
  speculate?: 'ngram' | LM;
  /** Reads control tokens in prompts as ordinary text: for texts of strangers. */
  plainText?: boolean;
  chatTemplate?: string;
  tools?: Json[];
  templateVariables?: { [name: string]: Json };
  date?: string | Date;
  continueFinalMessage?: boolean;
  /** A JSON Schema, an object or its text: the answer is JSON that satisfies it. One of these four options can be set. */
  schema?: { [keyword: string]: Json } | string;
  /** A grammar in llama.cpp's GBNF, which the answer satisfies. */
  grammar?: string;
  /** A regular expression that matches the whole answer. */
  regex?: string;
  /** Texts of which the answer is one. */
  choices?: string[];
}

/** A piece of an answer that is being written. */
export interface Piece {
  text: string;
  /** Tokens of the prompt that have been read. */
  promptTokens: number;
  /** Tokens that have been drawn. */
  tokens: number;
}

export interface AnswerCall extends Abortable {
  /** Called after each step, while the prompt is read too. */
  onToken?: (piece: Piece) => void;
}

export interface SessionGenerateOptions extends AnswerOptions, AnswerCall {
  /** "chat" writes a text with the chat template, "raw" takes it as it is, "auto" is "chat" where the model has one. */
  form?: 'auto' | 'raw' | 'chat';
  /** Adds the answer's receipt (docs/guide/audit.md). */
  receipt?: boolean;
}

export interface GenerateOptions extends SessionGenerateOptions {
  /** Adapters that are applied, as [0]; [] applies none. */
  adapters?: (number | string)[];
}

/** An answer of a model. */
export interface Generation {
  text: string;
  ids: number[];
  stopReason: 'eos' | 'stop' | 'length' | 'context' | 'cancelled' | '';
  /** SHA-256 of the ids and of the bits of the last logits: equal on every machine. */
  hash: string;
  promptTokens: number;
  /** Bytes of the prompt without a token. */
  droppedBytes: number;
  prefillSeconds: number;
  decodeSeconds: number;
  tokensPerSecond: number;
  drafted: number;
  accepted: number;
  passes: number;
  logprobs?: { id: number; logprob: number; top: { id: number; logprob: number }[] }[];
  receipt?: { [key: string]: Json };
}

/** An answer that is being written: `for await` gives pieces of text. Leaving the loop ends the answer. */
export class AnswerStream implements AsyncIterableIterator<string> {
  private constructor();
  /** The whole answer. */
  readonly result: Promise<Generation>;
  readonly promptTokens: number;
  readonly tokens: number;
  /** Ends the answer where it is, with the stopReason "cancelled". */
  stop(): Promise<Generation>;
  next(): Promise<IteratorResult<string, undefined>>;
  return(): Promise<IteratorResult<string, undefined>>;
  [Symbol.asyncIterator](): this;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Base of objects that live in an engine. Calls on one object take turns, in the order in which they were made. */
export class Remote {
  protected constructor();
  readonly engine: Engine;
  readonly isDisposed: boolean;
  /** Releases the object; calls that run or wait are aborted. */
  dispose(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A language model: weights, tokenizer, chat template. */
export class LM extends Remote {
  static load(source: Source, options?: LoadOptions): Promise<LM>;
  /** Answers or continues a prompt. */
  generate(prompt: Prompt, options?: GenerateOptions): Promise<Generation>;
  /** Like generate(), piece by piece. */
  stream(prompt: Prompt, options?: GenerateOptions): AnswerStream;
  /** The tokens that generate() would read. */
  prompt(
    prompt: string | Uint8Array | Message[],
    options?: AnswerOptions & Abortable & { form?: 'auto' | 'raw' | 'chat' },
  ): Promise<{ prompt: string; ids: number[]; prompt_tokens: number; dropped_bytes: number }>;
  /** Begins a conversation. */
  chat(options?: AnswerOptions & { system?: string; adapters?: (number | string)[] }): Promise<Chat>;
  session(options?: LMSessionOptions): Promise<LMSession>;
  /** Logits of the token that follows a prompt. */
  logits(
    prompt: string | number[] | Int32Array,
    options?: Abortable & { adapters?: (number | string)[] },
  ): Promise<Float32Array>;
  perplexity(
    text: string | Uint8Array,
    options?: Abortable & { window?: number; maxWindows?: number; adapters?: (number | string)[] },
  ): Promise<{ [key: string]: Json }>;
  renderChat(messages: Message[], options?: { addGenerationPrompt?: boolean }): Promise<string>;
  tokenizer(): Promise<Tokenizer>;
  info(): Promise<{ [key: string]: Json }>;
  adapters(): Promise<{ [key: string]: Json }[]>;
}

/** A model that the page keeps. */
export interface StoredModel {
  /** Its hub id, which LM.load() takes. */
  name: string;
  size: number;
  /** Computed while the model came in. */
  sha256: string;
}

/**
 * Copies a GGUF file into the private files of the page, whole or not at all; LM.load(name) then opens it without a
 * network. `sha256` refuses another file with the code "CorruptData". On pages alone.
 */
export function storeModel(
  name: string,
  source: Source,
  options?: Abortable & InEngine & { sha256?: string; onProgress?: (fraction: number) => void },
): Promise<StoredModel>;

/** What storeModel() has kept. */
export function storedModels(): Promise<StoredModel[]>;

/** Removes a model that storeModel() has kept. */
export function removeModel(name: string): Promise<void>;

export interface LMSessionOptions extends ComputeOptions {
  adapters?: (number | string)[];
  sequences?: number;
  contextLength?: number;
  /** Numeric type of keys and values: "float32", "bfloat16", "int8". */
  kvDtype?: string;
  int8Activations?: boolean;
}

/** Sequences of tokens that a language model has read. */
export class LMSession extends Remote {
  generate(prompt: Prompt, options?: SessionGenerateOptions): Promise<Generation>;
  stream(prompt: Prompt, options?: SessionGenerateOptions): AnswerStream;
  /** Appends tokens and returns the logits that follow; an aborted call leaves the sequence as it was. */
  feed(prompt: string | number[] | Int32Array, options?: Abortable & { sequence?: number }): Promise<Float32Array>;
  logits(prompt: string | number[] | Int32Array, options?: Abortable & { sequence?: number }): Promise<Float32Array>;
  tokens(options?: { sequence?: number }): Promise<number[]>;
  rewind(length: number, options?: { sequence?: number }): Promise<void>;
  fork(source: number, target: number): Promise<void>;
  snapshot(options?: { sequence?: number }): Promise<Uint8Array>;
  restore(snapshot: Uint8Array, options?: { sequence?: number }): Promise<void>;
  /** Applies these adapters; null: all. */
  chooseAdapters(adapters: (number | string)[] | null): Promise<void>;
  info(): Promise<{ [key: string]: Json }>;
}

/** A conversation. However an answer ends, its text so far joins the conversation. */
export class Chat extends Remote {
  /** Adds a message and answers it; null: answers the messages as they stand. */
  send(text: string | Uint8Array | null, options?: AnswerCall): Promise<Generation>;
  stream(text: string | Uint8Array | null, options?: AnswerCall): AnswerStream;
  messages(): Promise<Message[]>;
  setMessages(messages: Message[]): Promise<void>;
  /** Keeps the first so many messages. */
  rewind(count: number): Promise<void>;
  /** Replaces a message's text and drops the messages after it. */
  edit(index: number, text: string): Promise<void>;
  /** The conversation as text. */
  save(): Promise<string>;
  load(saved: string): Promise<void>;
  /** A conversation with the same messages, which goes its own way. */
  fork(): Promise<Chat>;
  receipt(): Promise<{ [key: string]: Json }>;
}

/** Text to token ids and back. */
export class Tokenizer extends Remote {
  static load(source: Source, options?: InEngine & Abortable): Promise<Tokenizer>;
  encode(
    text: string | Uint8Array,
    options?: { addSpecialTokens?: boolean; parseSpecial?: boolean },
  ): Promise<number[]>;
  decode(ids: number[] | Int32Array, options?: { skipSpecialTokens?: boolean }): Promise<string>;
  /** The id of a token as the vocabulary spells it; null if it has none. */
  idOf(token: string): Promise<number | null>;
  token(id: number): Promise<string>;
  vocabSize(): Promise<number>;
}

export interface EncoderOptions extends ComputeOptions, Abortable, InEngine {
  dtype?: string;
  /** Text that is put before every text. */
  prompt?: string;
  /** A prompt of the folder by its name, as "query". */
  promptName?: string;
}

/** Texts to vectors, as sentence-transformers do. */
export class Encoder extends Remote {
  static load(source: Source, options?: EncoderOptions): Promise<Encoder>;
  /** [texts, dimensions]; of a single text [dimensions]. */
  embed(texts: string | string[], options?: Abortable): Promise<Tensor>;
  tokenizer(): Promise<Tokenizer>;
  info(): Promise<{ [key: string]: Json }>;
  receipt(): Promise<{ [key: string]: Json }>;
}

export interface Weight {
  name: string;
  shape: number[];
  dtype: string;
  [key: string]: Json;
}

/** A grid of layers with their weights. */
export class Network extends Remote {
  /** strict: false lists unknown keys in info() in place of refusing them. */
  static fromSpec(spec: object | string, options?: InEngine & { strict?: boolean }): Promise<Network>;
  static fromArch(config: object | string, options?: InEngine): Promise<Network>;
  static fromFile(source: Source, options?: InEngine & Abortable & { strict?: boolean }): Promise<Network>;
  static graft(networks: Network[], options?: InEngine & { mode?: string; share?: boolean }): Promise<Network>;
  /** Runs the network in a session of its own; samples first. */
  forward(x: Numbers, options?: ForwardOptions): Promise<Tensor<Float32Array | Float64Array>>;
  session(options?: SessionOptions): Promise<Session>;
  weights(): Promise<Weight[]>;
  get(name: string): Promise<Tensor<Float32Array | Float64Array>>;
  set(name: string, values: Numbers): Promise<void>;
  /** Writes an .entity, or a checkpoint for a name that ends with .json. Refuses endings of other formats, and a file
   * that exists and holds no network unless `overwrite` is true. */
  save(path: string | URL, options?: { keepMaster?: boolean; overwrite?: boolean }): Promise<void>;
  toBytes(options?: { format?: 'entity' | 'json'; keepMaster?: boolean }): Promise<Uint8Array>;
  clone(): Promise<Network>;
  spec(): Promise<{ [key: string]: Json }>;
  info(): Promise<{ [key: string]: Json }>;
  blueprint(): Promise<{ [key: string]: Json }>;
  /** SHA-256 of all weights. */
  hash(): Promise<string>;
  /** A picture of the grid, SVG. */
  draw(title?: string): Promise<string>;
  /** Infers all shapes from that of the input; returns that of the output. */
  prepare(shape: number[]): Promise<number[]>;
  /** Puts a layer into a cell [z, y, x, l]; null empties it. */
  place(address: number[], layer: object | string | null): Promise<void>;
  morph(dtype: string, options?: { path?: string }): Promise<void>;
  freeze(options?: { path?: string; frozen?: boolean }): Promise<void>;
}

export interface ForwardOptions extends Abortable {
  training?: boolean;
  step?: number;
  lengths?: number[];
  external?: Numbers;
  mask?: Numbers;
}

export interface SessionOptions extends ComputeOptions {
  /** Keeps the activations that backward() needs. */
  backward?: boolean;
  context?: number;
  kvDtype?: string;
  checkpointEvery?: number;
}

/** One user of a network: activations, gradients, states. */
export class Session extends Remote {
  forward(x: Numbers, options?: ForwardOptions): Promise<Tensor<Float32Array | Float64Array>>;
  /**
   * Binds shared memory for inputs of a shape: run() reads `input` and fills `output` without a copy. Unsupported where
   * memory is not shared. The memory must not be used after dispose().
   */
  bind(shape: number[]): Promise<{
    input: Tensor<Float32Array | Float64Array>;
    output: Tensor<Float32Array | Float64Array>;
  }>;
  run(): Promise<void>;
  /** Adds to the gradients of the weights; returns that of the input. */
  backward(outputGradient: Numbers): Promise<Tensor<Float32Array | Float64Array>>;
  gradient(weight: string): Promise<Tensor>;
  clearGradients(): Promise<void>;
  reset(): Promise<void>;
  rewind(length: number): Promise<void>;
  snapshot(): Promise<Uint8Array>;
  restore(snapshot: Uint8Array): Promise<void>;
  info(): Promise<{ [key: string]: Json }>;
}

export interface Step {
  loss: number;
  learningRate: number;
  gradientNorm: number;
  /** A loss, a gradient or an update was not finite: everything is as before. */
  skipped: boolean;
  why: string;
}

/** A network that learns, step by step. */
export class Trainer extends Remote {
  /** config: the keys of docs/guide/training.md, as { loss: "mse", learning_rate: 0.1 }. */
  static create(network: Network, shape: number[], config?: object, options?: ComputeOptions): Promise<Trainer>;
  /** An aborted step leaves everything as it was. */
  step(inputs: Numbers, targets: Numbers, options?: Abortable): Promise<Step>;
  step(inputs: Numbers, targets: null | undefined, options: Abortable & { classes: Numbers }): Promise<Step>;
  evaluate(
    inputs: Numbers,
    targets: Numbers | null | undefined,
    options?: { classes?: Numbers },
  ): Promise<{ loss: number; output: Tensor<Float32Array | Float64Array> }>;
  setEpoch(epoch: number): Promise<void>;
  observe(metric: number): Promise<void>;
  info(): Promise<{ [key: string]: Json }>;
}

export interface StepMeshOptions extends ComputeOptions {
  /** Captured ticks that a state keeps. */
  history?: number;
  backward?: boolean;
  /** Every tick leaves what it read, which learning by targets starts from. */
  keepInputs?: boolean;
}

/** A network whose cells all move at once: in each tick a cell reads the outputs of the tick before. */
export class StepMesh extends Remote {
  static create(network: Network, shape: number[], options?: StepMeshOptions): Promise<StepMesh>;
  state(): Promise<StepState>;
  step(
    states: StepState | StepState[],
    options?: { ticks?: number; capture?: boolean; training?: boolean },
  ): Promise<void>;
  backward(
    state: StepState,
    outputGradient: Numbers,
    options?: { ticks?: number },
  ): Promise<Tensor<Float32Array | Float64Array> | null>;
  gradient(weight: string): Promise<Tensor>;
  clearGradients(): Promise<void>;
  /** Begins learning by targets; config: the keys of docs/guide/tween.md. */
  tween(config?: object, options?: { ticks?: number }): Promise<MeshTween>;
  info(): Promise<{ [key: string]: Json }>;
}

/** One user of a mesh. */
export class StepState extends Remote {
  setInput(x: Numbers, options?: { hold?: boolean }): Promise<void>;
  clearInput(): Promise<void>;
  /** Output of a cell in the last tick, the last cell by default; null before data has reached it. */
  output(cell?: number): Promise<Tensor<Float32Array | Float64Array> | null>;
  reset(): Promise<void>;
  fork(): Promise<StepState>;
  snapshot(): Promise<Uint8Array>;
  restore(snapshot: Uint8Array): Promise<void>;
  hash(): Promise<string>;
  ticks(): Promise<number>;
}

/** Learning by targets between ticks. */
export class MeshTween extends Remote {
  step(states: StepState | StepState[], targets: Numbers, learningRate: number): Promise<void>;
}

/** An ONNX model: tensors in by name, tensors out. */
export class Graph extends Remote {
  static load(source: Source, options?: ComputeOptions & InEngine & Abortable & { maxBytes?: number }): Promise<Graph>;
  /** Inputs by name, or the numbers of the only input. */
  forward(inputs: { [name: string]: Numbers } | Numbers): Promise<{ [name: string]: Tensor<TypedArray> }>;
  info(): Promise<{ [key: string]: Json }>;
}
