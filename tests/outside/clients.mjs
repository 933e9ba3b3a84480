// loom serve asked by npm's openai and by the AI SDK as their users do: node clients.mjs LOOM. The packages are those of
// tools/npm_packages.sh clients; without them this ends with 77, which CTest shows as skipped.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const [, , LOOM] = process.argv;
const npm = process.env.LOOM_NPM ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'loom/npm');
const packages = join(npm, 'clients/node_modules');
if (!existsSync(join(packages, 'ai'))) {
  console.log(`SKIPPED: ${packages} lacks npm's openai and the AI SDK: tools/npm_packages.sh clients fetches them`);
  process.exit(77);
}
const require = createRequire(join(packages, 'from-here.js'));
const { default: OpenAI } = require('openai');
const { zodResponseFormat } = require('openai/helpers/zod');
const ai = require('ai');
const { createOpenAICompatible } = require('@ai-sdk/openai-compatible');
const { z } = require('zod');

const DATA = process.env.LOOM_DATA;
const MODEL = join(DATA, 'llm/SmolLM2-135M-Instruct.Q4_1.gguf');
const QUESTION = 'What is gravity?';
const messages = [{ role: 'user', content: QUESTION }];
const Weather = z.object({ city: z.enum(['Oslo', 'Rome']), degrees: z.number().int() });
const environment = { ...process.env };
delete environment.LOOM_API_KEY;

const server = spawn(
  LOOM,
  ['serve', MODEL, '--encoder', join(DATA, 'minilm'), '--port', '0', '-q', '-t', '1', '--api-key', 'a key', '--json'],
  { stdio: ['ignore', 'pipe', 'inherit'], env: environment },
);
const said = await new Promise((resolve, reject) => {
  let text = '';
  server.stdout.on('data', (bytes) => {
    text += bytes;
    if (text.trimEnd().endsWith('}')) resolve(JSON.parse(text));
  });
  server.on('exit', (code) => reject(new Error(`loom serve ended with ${code}`)));
});
after(async () => {
  const ended = new Promise((resolve) => server.removeAllListeners('exit').on('exit', resolve));
  server.kill('SIGTERM');
  assert.equal(await ended, 0);
});

const generated = JSON.parse(
  execFileSync(LOOM, ['generate', MODEL, '-p', QUESTION, '-n', '16', '-q', '--json'], { env: environment }),
);
const client = new OpenAI({ baseURL: said.url, apiKey: 'a key', maxRetries: 0 });
const provider = createOpenAICompatible({
  name: 'loom',
  baseURL: said.url,
  apiKey: 'a key',
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const model = provider(said.model);
const asked = { model: said.model, messages, max_tokens: 16 };

/** All of an asynchronous sequence. */
async function all(sequence) {
  const out = [];
  for await (const each of sequence) out.push(each);
  return out;
}

test('openai: models', async () => {
  assert.deepEqual(
    (await all(client.models.list())).map((each) => each.id),
    [said.model, 'minilm'],
  );
  assert.equal((await client.models.retrieve(said.model)).owned_by, 'loom');
});

test('openai: a chat, whole, in pieces and by the helper', async () => {
  const whole = await client.chat.completions.create(asked);
  assert.equal(whole.loom.hash, generated.hash);
  assert.equal(whole.choices[0].message.content, generated.text);
  const stream = await client.chat.completions.create({
    ...asked,
    stream: true,
    stream_options: { include_usage: true },
  });
  const events = await all(stream);
  assert.equal(events.map((each) => each.choices[0]?.delta.content ?? '').join(''), generated.text);
  assert.equal(events.at(-1).usage.completion_tokens, 16);
  const helper = client.chat.completions.stream(asked);
  assert.equal(await helper.finalContent(), generated.text);
  assert.equal((await helper.finalChatCompletion()).choices[0].finish_reason, 'length');
});

test('openai: an object by a schema of zod', async () => {
  const answer = await client.chat.completions.parse({
    ...asked,
    max_tokens: 64,
    response_format: zodResponseFormat(Weather, 'weather'),
  });
  assert.ok(['Oslo', 'Rome'].includes(answer.choices[0].message.parsed.city));
});

test('openai: a function is called and its result goes back', async () => {
  let called;
  const runner = client.chat.completions.runTools({
    ...asked,
    max_tokens: 64,
    parallel_tool_calls: false,
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
    tools: [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          description: 'The weather of a city',
          parameters: {
            type: 'object',
            properties: { city: { enum: ['Oslo', 'Rome'] } },
            required: ['city'],
            additionalProperties: false,
          },
          parse: JSON.parse,
          function: ({ city }) => {
            called = city;
            return `rain in ${city}`;
          },
        },
      },
    ],
  });
  await runner.done();
  assert.ok(['Oslo', 'Rome'].includes(called));
});

test('openai: a text is continued', async () => {
  const prompt = { model: said.model, prompt: 'Gravity is', max_tokens: 8 };
  const whole = await client.completions.create(prompt);
  const pieces = await all(await client.completions.create({ ...prompt, stream: true }));
  assert.equal(pieces.map((each) => each.choices[0].text).join(''), whole.choices[0].text);
});

test('openai: vectors', async () => {
  const input = ['A cat sleeps.', 'Stars are far away.'];
  const made = await client.embeddings.create({ model: 'minilm', input }); // the package asks for base64
  const plain = await client.embeddings.create({ model: 'minilm', input, encoding_format: 'float' });
  assert.deepEqual(
    made.data.map((each) => Array.from(each.embedding)),
    plain.data.map((each) => each.embedding),
  );
});

test('openai: responses', async () => {
  const request = { model: said.model, input: QUESTION, max_output_tokens: 16 };
  const made = await client.responses.create(request);
  assert.equal(made.output_text, generated.text);
  const events = await all(await client.responses.create({ ...request, stream: true }));
  const deltas = events.filter((each) => each.type === 'response.output_text.delta');
  assert.equal(deltas.map((each) => each.delta).join(''), generated.text);
  assert.equal(events.at(-1).type, 'response.incomplete');
});

test('openai: errors have the classes of the package, and a stream that is left ends', async () => {
  await assert.rejects(client.chat.completions.create({ ...asked, n: 0 }), OpenAI.BadRequestError);
  await assert.rejects(client.chat.completions.create({ ...asked, model: 'gpt' }), OpenAI.NotFoundError);
  await assert.rejects(client.withOptions({ apiKey: 'wrong' }).models.list(), OpenAI.AuthenticationError);
  const stream = await client.chat.completions.create({ ...asked, max_tokens: 4000, stream: true, ignore_eos: true });
  for await (const each of stream) if (each.choices[0].delta.content) break;
  assert.equal((await client.chat.completions.create(asked)).loom.hash, generated.hash);
});

test('ai: generateText and streamText', async () => {
  const whole = await ai.generateText({ model, prompt: QUESTION, maxOutputTokens: 16, temperature: 0 });
  assert.equal(whole.text, generated.text);
  assert.equal(whole.finishReason, 'length');
  assert.equal(whole.usage.outputTokens, 16);
  const stream = ai.streamText({ model, prompt: QUESTION, maxOutputTokens: 16, seed: 3 });
  assert.equal((await all(stream.textStream)).join(''), generated.text);
  assert.equal((await stream.usage).outputTokens, 16);
});

test('ai: objects', async () => {
  const whole = await ai.generateObject({ model, schema: Weather, prompt: QUESTION, maxOutputTokens: 64 });
  assert.ok(['Oslo', 'Rome'].includes(whole.object.city));
  const stream = ai.streamObject({ model, schema: Weather, prompt: QUESTION, maxOutputTokens: 64 });
  await all(stream.partialObjectStream);
  assert.deepEqual(await stream.object, whole.object);
  const output = ai.Output.object({ schema: Weather });
  const text = await ai.generateText({ model, output, prompt: QUESTION, maxOutputTokens: 64 });
  assert.deepEqual(text.output, whole.object);
});

test('ai: a tool runs', async () => {
  const cities = [];
  const weather = ai.tool({
    description: 'The weather of a city',
    inputSchema: z.object({ city: z.enum(['Oslo', 'Rome']) }),
    execute: ({ city }) => {
      cities.push(city);
      return { weather: 'rain' };
    },
  });
  const request = { model, prompt: QUESTION, tools: { weather }, toolChoice: 'required', maxOutputTokens: 64 };
  const whole = await ai.generateText(request);
  assert.ok(['Oslo', 'Rome'].includes(whole.toolCalls[0].input.city));
  const stream = ai.streamText(request);
  await stream.consumeStream();
  assert.deepEqual((await stream.toolCalls)[0].input, whole.toolCalls[0].input);
  assert.equal((await stream.toolResults)[0].output.weather, 'rain');
  assert.ok(cities.length >= 2);
});

test('ai: vectors and errors', async () => {
  const embedder = provider.embeddingModel('minilm');
  const one = await ai.embed({ model: embedder, value: 'A cat sleeps.' });
  const many = await ai.embedMany({ model: embedder, values: ['A cat sleeps.', 'Stars are far away.'] });
  assert.deepEqual(many.embeddings[0], one.embedding);
  assert.ok(ai.cosineSimilarity(many.embeddings[0], many.embeddings[1]) < 0.9);
  const wrong = ai.generateText({ model: provider('gpt'), prompt: QUESTION, maxRetries: 0 });
  await assert.rejects(wrong, (error) => error.statusCode === 404 && /gpt/.test(error.message));
});
