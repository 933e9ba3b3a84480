// Times calls in Node with the native library as calls.c does in C:  calls.mjs MODEL
import { createEngine, LM, Network } from '../../js/src/node.js';

const [GROUPS, CALLS, ANSWERS, TOKENS] = [300, 200, 120, 16];
const SPEC = {
  seed: 1,
  layers: [
    { type: 'dense', input_height: 8, output_height: 8, activation: 'tanh' },
    { type: 'dense', input_height: 8, output_height: 4 },
  ],
};

const now = () => Number(process.hrtime.bigint());
const show = (what, times) => {
  times.sort((a, b) => a - b);
  console.log(what, Math.round(times[0]), Math.round(times[times.length >> 1]));
};

const engine = await createEngine({ kind: 'native', threads: 1 });
const network = await Network.fromSpec(SPEC, { engine });
const session = await network.session({ threads: 1 });
const x = { data: new Float32Array(8), shape: [1, 8] };
const forward = [];
for (let group = 0; group < GROUPS; ++group) {
  const start = now();
  for (let i = 0; i < CALLS; ++i) await session.forward(x);
  forward.push((now() - start) / CALLS);
}
show('forward', forward);
const lm = await LM.load(process.argv[2], { engine });
const tokens = [];
let hash = '';
for (let answer = 0; answer < ANSWERS; ++answer) {
  const start = now();
  const stream = lm.stream('Once upon a time', { maxTokens: TOKENS, form: 'raw' });
  for await (const piece of stream) void piece;
  hash = (await stream.result).hash;
  tokens.push((now() - start) / TOKENS);
}
show('token', tokens);
console.log('hash', hash.slice(0, 16));
engine.dispose();
