// The values of a row that JavaScript computes, in Node and on pages: row.c says what the first three are.
const SPEC = {
  seed: 3,
  layers: [
    { type: 'dense', input_height: 8, output_height: 16, activation: 'tanh' },
    { type: 'dense', input_height: 16, output_height: 4 },
  ],
};
const VOCABULARIES = ['bert-bge', 'gpt-2', 'llama-spm', 'llama-bpe', 'qwen2'];
const ENCODER_FILES = ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'modules.json', '1_Pooling/config.json', 'model.safetensors'];
const TEXTS = ['The river runs quietly past the old mill.', 'It rains.', 'Wie weit ist es bis zum Meer?'];

async function sha256(arrays) {
  const all = new Uint8Array(await new Blob(arrays).arrayBuffer());
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', all));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Hash of the weights after 500 steps of a trainer; `compute` says on which device. */
export async function trainingSteps({ Network, Trainer }, engine, compute = {}) {
  const network = await Network.fromSpec(SPEC, { engine });
  const trainer = await Trainer.create(network, [4, 8], { loss: 'mse', learning_rate: 0.05, optimizer: 'adam' }, compute);
  for (let step = 0; step < 500; ++step) {
    const inputs = [0, 1, 2, 3].map((i) =>
      Array.from({ length: 8 }, (_, j) => ((step * 31 + i * 7 + j * 3) % 17) / 16 - 0.5),
    );
    await trainer.step(
      inputs,
      inputs.map((row) => [0, 1, 2, 3].map((k) => row[k] * 0.5 + row[k + 4] * 0.25)),
    );
  }
  return network.hash();
}

/** Hash of SmolLM2's answer to the README's question; `model` is a source of LM.load(). */
export async function answer({ LM }, engine, model, compute = {}) {
  const lm = await LM.load(model, { engine, ...compute });
  const { hash } = await lm.generate('What is the capital of France?');
  await lm.dispose();
  return hash;
}

/** Hash of the ids that five vocabularies give for the texts beside them. `read(name)` returns the bytes of a data file. */
export async function tokenizerSet({ Tokenizer }, engine, read) {
  const ids = [];
  for (const name of VOCABULARIES) {
    const tokenizer = await Tokenizer.load(await read(`vocabs/${name}.gguf`), { engine });
    ids.push(Int32Array.from(await tokenizer.encode(await read(`vocabs/${name}.gguf.inp`))));
    await tokenizer.dispose();
  }
  return sha256(ids);
}

/** Hash of MiniLM's vectors of three texts. */
export async function embedding({ Encoder }, engine, read, compute = {}) {
  const files = {};
  for (const name of ENCODER_FILES) files[name] = await read(`minilm/${name}`);
  const encoder = await Encoder.load(files, { engine, ...compute });
  const { data } = await encoder.embed(TEXTS);
  await encoder.dispose();
  return sha256([data]);
}

/**
 * All values of a row, in this order; without `model` or `read` those of the engine alone. `compute` has the device,
 * `without` names values that are left out. Each value is given to `took(name, milliseconds)`.
 */
export async function valuesOf(api, engine, { model, read, compute = {}, without = [], took = () => {} } = {}) {
  const values = {
    training_steps: () => trainingSteps(api, engine, compute),
    tokenizers: read && (() => tokenizerSet(api, engine, read)),
    embedding: read && (() => embedding(api, engine, read, compute)),
    answer: model && (() => answer(api, engine, model, compute)),
    digest: () => engine.verify(compute),
  };
  const row = {};
  for (const [name, value] of Object.entries(values)) {
    if (!value || without.includes(name)) continue;
    const begun = performance.now();
    row[name] = await value();
    took(name, Math.round(performance.now() - begun));
  }
  return row;
}
