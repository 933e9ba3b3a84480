// A row of tools/digest_matrix through the npm package: row.mjs native|FOLDER [MODEL]. FOLDER has loom.wasm. row.c says
// what it prints.
import { pathToFileURL } from 'node:url';
import { createEngine, LM, Network, Trainer } from '../../js/src/node.js';

const [kind, model] = process.argv.slice(2);
const engine = await createEngine(
  kind === 'native' ? { kind } : { kind: 'wasm', threads: 1, module: pathToFileURL(`${kind}/loom.wasm`).href },
);
const network = await Network.fromSpec(
  {
    seed: 3,
    layers: [
      { type: 'dense', input_height: 8, output_height: 16, activation: 'tanh' },
      { type: 'dense', input_height: 16, output_height: 4 },
    ],
  },
  { engine },
);
const trainer = await Trainer.create(network, [4, 8], { loss: 'mse', learning_rate: 0.05, optimizer: 'adam' });
for (let step = 0; step < 500; ++step) {
  const inputs = [0, 1, 2, 3].map((i) =>
    Array.from({ length: 8 }, (_, j) => ((step * 31 + i * 7 + j * 3) % 17) / 16 - 0.5),
  );
  await trainer.step(
    inputs,
    inputs.map((row) => [0, 1, 2, 3].map((k) => row[k] * 0.5 + row[k + 4] * 0.25)),
  );
}
const row = { digest: await engine.verify(), training_steps: await network.hash() };
if (model) {
  const lm = await LM.load(model, { engine });
  row.answer = (await lm.generate('What is the capital of France?')).hash;
}
console.log(JSON.stringify(row));
engine.dispose();
