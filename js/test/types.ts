// Checked by tsc --strict, never run: what the guide does, and mistakes that the types refuse.
import {
  AnswerStream,
  Chat,
  createEngine,
  Encoder,
  Generation,
  Graph,
  initLoom,
  LM,
  LoomError,
  Network,
  StepMesh,
  Tensor,
  Tokenizer,
  Trainer,
} from '@openfluke/welvet';

export async function first(): Promise<string> {
  const loom = await initLoom();
  await loom.LoadTransformer('HuggingFaceTB/SmolLM2-360M-Instruct');
  const result = loom.Generate('The future of AI is', 50);
  return result;
}

export async function models(file: Blob, signal: AbortSignal): Promise<Generation> {
  const engine = await createEngine({ threads: 2, module: new URL('https://example.org/loom.wasm') });
  const lm: LM = await LM.load(file, {
    engine,
    threads: 2,
    device: 'cpu',
    contextLength: 2048,
    signal,
    onProgress: (part: number) => void part,
  });
  const stream: AnswerStream = lm.stream('Once upon a time', {
    maxTokens: 50,
    temperature: 0.8,
    topK: 40,
    topP: 0.9,
    seed: 7n,
    stop: ['\n'],
    signal,
  });
  for await (const text of stream) text.toUpperCase();
  const chat: Chat = await lm.chat({ system: 'You are brief.' });
  const copy: Chat = await chat.fork();
  await copy.send('Hello', { signal, onToken: ({ text, tokens }) => `${text}${tokens}` });
  const tokenizer: Tokenizer = await lm.tokenizer();
  const ids: number[] = await tokenizer.encode('Hello', { addSpecialTokens: false });
  const encoder = await Encoder.load('sentence-transformers/all-MiniLM-L6-v2');
  const vectors: Tensor = await encoder.embed(['a', 'b']);
  const numbers: Float32Array = vectors.data;
  await engine.dispose();
  return lm.generate(ids.concat(numbers.length), { speculate: lm });
}

export async function networks(): Promise<void> {
  const net = await Network.fromSpec({ layers: [{ type: 'dense', input_height: 2, output_height: 1 }] });
  const trainer = await Trainer.create(net, [4, 2], { loss: 'mse', learning_rate: 0.1 }, { threads: 1 });
  const { loss, skipped } = await trainer.step(
    [
      [0, 1],
      [1, 0],
    ],
    new Float32Array(2),
  );
  await trainer.step({ data: new Float32Array(4), shape: [2, 2] }, null, { classes: [0, 1] });
  const mesh = await StepMesh.create(net, [1, 2], { keepInputs: true });
  const state = await mesh.state();
  await mesh.step([state], { ticks: 2 });
  const tween = await mesh.tween({ mode: 'layerwise' });
  await tween.step(state, [[1]], 0.1);
  const graph = await Graph.load(new Uint8Array(0));
  const outputs = await graph.forward({ input: new Float32Array(4) });
  outputs['output']?.toArray();
  await using owned = await net.clone();
  await owned.dispose();
  void (loss + Number(skipped));
}

export function mistakes(lm: LM, error: unknown): void {
  // @ts-expect-error an option that does not exist
  void lm.generate('x', { maxtokens: 3 });
  // @ts-expect-error a number where a text is expected
  void LM.load(7);
  // @ts-expect-error no class on its own
  void new LM();
  // @ts-expect-error a code that does not exist
  if (error instanceof LoomError && error.code === 'Nonsense') throw error;
}
