// Options of calls: every one is checked and read, or refused by its name.
import { LoomError, mismatch } from '../errors.js';

/** A whole number within its range; a BigInt that a number holds exactly becomes one. */
export function whole(value, what, least, most) {
  const number = typeof value === 'bigint' ? value : Number.isInteger(value) ? value : undefined;
  if (number === undefined) throw mismatch(what, 'a whole number', value);
  if (number < least || number > most) {
    throw new LoomError('OutOfRange', `${what} is ${number}: expected ${least} to ${most}`);
  }
  return typeof number === 'bigint' && Number.isSafeInteger(Number(number)) ? Number(number) : number;
}

export function real(value, what) {
  if (typeof value !== 'number') throw mismatch(what, 'a number', value);
  return value;
}

export function truth(value, what) {
  if (typeof value !== 'boolean') throw mismatch(what, 'true or false', value);
  return value;
}

export function text(value, what) {
  if (typeof value !== 'string') throw mismatch(what, 'a text', value);
  if (value.includes('\0')) throw new LoomError('InvalidArgument', `${what} has a NUL in it`);
  if (LONE_SURROGATE.test(value))
    throw new LoomError('InvalidArgument', `${what} has half of a character: a surrogate without the other one`);
  return value;
}

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const LONE_SURROGATES = new RegExp(LONE_SURROGATE, 'g');

/** A value as JSON text. Halves of characters become U+FFFD, as in a prompt that is a text. */
export function jsonText(value, what) {
  try {
    return JSON.stringify(value, (_, each) =>
      typeof each === 'string' ? each.replace(LONE_SURROGATES, '\ufffd') : each,
    );
  } catch (error) {
    const [why] = error.message.split('\n');
    throw new LoomError('TypeMismatch', `${what} cannot be written as JSON: ${why}`, { cause: error });
  }
}

export function list(value, what, expected) {
  if (!Array.isArray(value) && !(ArrayBuffer.isView(value) && 'length' in value)) throw mismatch(what, expected, value);
  return Array.from(value);
}

export function mapping(value, what, expected) {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) {
    throw mismatch(what, expected, value);
  }
  return value;
}

/** One of some texts. */
export function choice(value, what, choices) {
  if (!choices.includes(value)) {
    const came = typeof value === 'string' ? JSON.stringify(value) : String(value);
    throw new LoomError('InvalidArgument', `${what} is ${came}: expected ${choices.join(', ')}`);
  }
  return value;
}

const MOST = Number.MAX_SAFE_INTEGER;
const count =
  (most = MOST, least = 0) =>
  (value, what) =>
    whole(value, what, least, most);
const nonzero = (check) => (value, what) => {
  if (check(value, what) === 0) throw new LoomError('InvalidArgument', `${what} is 0: it must not be`);
  return value;
};

/** Reads the options of a call by a table from name to check; undefined counts as absent. */
export function read(options, table, call) {
  const out = {};
  for (const [name, value] of Object.entries(mapping(options ?? {}, `the options of ${call}`, 'an object'))) {
    if (!Object.hasOwn(table, name)) {
      const camel = name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
      const expected = Object.hasOwn(table, camel) ? camel : Object.keys(table).join(', ') || 'signal or onToken';
      throw new LoomError('UnknownKey', `${call} has no option ${JSON.stringify(name)}: expected ${expected}`);
    }
    if (value !== undefined && value !== null) out[name] = table[name](value, name);
  }
  return out;
}

/** Where something runs: options of everything that computes. */
export const COMPUTE = {
  threads: count(256, 1),
  isa: text,
  device: text,
  precision: (value, what) => choice(value, what, ['strict', 'fast']),
};

/** How the tokens of an answer are chosen, and what a chat template writes. */
export const ANSWER = {
  maxTokens: count(),
  minTokens: count(),
  temperature: real,
  topK: count(2 ** 31 - 1),
  topP: nonzero(real),
  minP: real,
  typicalP: nonzero(real),
  repetitionPenalty: nonzero(real),
  repetitionWindow: nonzero((value, what) => whole(value, what, -1, 2 ** 31 - 1)),
  frequencyPenalty: real,
  presencePenalty: real,
  ignoreEos: truth,
  stop: (value, what) =>
    (typeof value === 'string' ? [value] : list(value, what, 'a text or a list of texts')).map((each) =>
      text(each, what),
    ),
  stopIds: (value, what) =>
    list(value, what, 'a list of token ids').map((id) => whole(id, 'a token id of stopIds', 0, 2 ** 31 - 1)),
  logitBias: (value, what) => biases(value, what),
  logprobs: count(2 ** 31 - 1),
  seed: (value, what) => whole(value, what, 0, 2n ** 64n - 1n),
  speculate: (value) => value,
  plainText: truth,
  chatTemplate: text,
  tools: (value, what) => list(value, what, 'a list of functions'),
  templateVariables: (value, what) => mapping(value, what, 'an object from name to value'),
  date: (value, what) => day(value, what),
  continueFinalMessage: truth,
  schema: (value, what) => (typeof value === 'string' ? text(value, what) : mapping(value, what, 'a JSON Schema')),
  grammar: text,
  regex: text,
  choices: (value, what) => {
    const texts = list(value, what, 'a list of texts').map((each) => text(each, what));
    if (texts.length === 0) throw new LoomError('InvalidArgument', 'choices is empty: expected at least one text');
    return texts;
  },
};

/** Fields of a C struct that have the option's name in snake case. */
const PLAIN = [
  'minTokens',
  'temperature',
  'topK',
  'topP',
  'minP',
  'typicalP',
  'repetitionPenalty',
  'repetitionWindow',
  'frequencyPenalty',
  'presencePenalty',
  'ignoreEos',
  'logprobs',
  'seed',
  'plainText',
  'continueFinalMessage',
];
const TEMPLATE = ['plainText', 'chatTemplate', 'tools', 'templateVariables', 'date', 'continueFinalMessage'];

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function biases(value, what) {
  const pairs =
    value instanceof Map ? [...value] : Object.entries(mapping(value, what, 'an object from token id to number'));
  return pairs.map(([id, bias]) => {
    const number = typeof id === 'string' && /^(0|[1-9][0-9]*)$/.test(id) ? Number(id) : id;
    return [whole(number, 'a token id of logitBias', 0, 2 ** 31 - 1), real(bias, 'a number of logitBias')];
  });
}

function day(value, what) {
  if (!(value instanceof Date)) return text(value, what);
  if (Number.isNaN(value.getTime())) throw new LoomError('InvalidArgument', `${what} is an invalid Date`);
  return value.toISOString().slice(0, 10);
}

/** Lays out loom_generation_options. */
export function generationOptions(frame, options) {
  const values = {};
  for (const name of PLAIN) if (options[name] !== undefined) values[snake(name)] = options[name];
  if (options.maxTokens !== undefined) {
    values.max_tokens = options.maxTokens;
    values.prompt_only = options.maxTokens === 0;
  }
  const put = (name, { pointer, count: many }) => Object.assign(values, { [name]: pointer, [`${name}_count`]: many });
  if (options.stop?.length) put('stop', frame.texts(options.stop));
  if (options.stopIds?.length) put('stop_ids', frame.copied(Int32Array.from(options.stopIds)));
  if (options.logitBias?.length) {
    put('bias_ids', frame.copied(Int32Array.from(options.logitBias, ([id]) => id)));
    put('biases', frame.copied(Float32Array.from(options.logitBias, ([, bias]) => bias)));
  }
  const { speculate } = options;
  if (speculate !== undefined) {
    if (speculate !== 'ngram' && speculate?.isModel !== true)
      throw mismatch('speculate', '"ngram" or an LM', speculate);
    values.speculate = 1;
    if (speculate !== 'ngram') values.draft_model = speculate.handle;
  }
  if (options.chatTemplate !== undefined) values.chat_template = frame.text(options.chatTemplate);
  if (options.tools !== undefined) values.tools = frame.text(jsonText(options.tools, 'tools'));
  if (options.templateVariables !== undefined)
    values.template_variables = frame.text(jsonText(options.templateVariables, 'templateVariables'));
  if (options.schema !== undefined) {
    const { schema } = options;
    values.schema = frame.text(typeof schema === 'string' ? schema : jsonText(schema, 'schema'));
  }
  for (const name of ['grammar', 'regex']) if (options[name] !== undefined) values[name] = frame.text(options[name]);
  if (options.choices !== undefined) put('choices', frame.texts(options.choices));
  if (options.date !== undefined) values.date = frame.text(options.date);
  return frame.struct('generation_options', values);
}

/** Refuses options of a chat template for prompts that none writes. */
export function refuseTemplateOptions(options, why) {
  for (const name of TEMPLATE) {
    if (options[name] !== undefined && options[name] !== false) {
      throw new LoomError('InvalidArgument', `${name} is an option of chat templates, and ${why}`);
    }
  }
}

/** Lays out loom_compute_options. */
export function computeOptions(frame, { threads, isa, device, precision, maxBytes }) {
  const { core } = frame;
  let name = device;
  if (precision === 'fast' && !name?.endsWith(':fast')) name = `${name ?? 'cpu'}:fast`;
  if (precision === 'strict' && name?.endsWith(':fast')) {
    throw new LoomError('InvalidArgument', `device ${name} is fast, and precision strict is asked for`);
  }
  const values = { isa: frame.text(isa), device: frame.text(name), max_bytes: maxBytes };
  // A module has the workers that it was started with.
  values.thread_count =
    core.kind === 'native' ? (threads ?? core.defaultThreads ?? 0) : Math.min(threads ?? core.threads, core.threads);
  return frame.struct('compute_options', values);
}
