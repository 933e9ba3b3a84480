#!/usr/bin/env node
// One process of a world in lockstep, in Node: peer.mjs [--wasm FILE] PORT FOLDER NAME [--flip TICK:CHARACTER:WEIGHT:INDEX:BIT].
// With --wasm the package runs loom.wasm, else the native library. Rules, protocol and files: docs/guide/lockstep.md.
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { createEngine, Network, Trainer } from '../../js/src/node.js';

const FIELD = 64;
const SPEC = {
  input_shape: [8],
  layers: [
    { type: 'dense', input_height: 8, output_height: 12, bias: true, activation: 'tanh' },
    { type: 'dense', input_height: 12, output_height: 2, bias: true },
  ],
};
const LEARNING = {
  loss: 'mse',
  learning_rate: 0.1,
  tween: { mode: 'layerwise', momentum: 0, budget_threshold: 0 },
};

/** A network that learns by targets. All calls of Loom are in this class. */
class Brain {
  static async create(seed, engine) {
    const brain = new Brain();
    brain.network = await Network.fromSpec({ seed, ...SPEC }, { engine });
    brain.trainer = await Trainer.create(brain.network, [1, 8], LEARNING, { threads: 1 });
    brain.session = await brain.network.session({ threads: 1 });
    return brain;
  }

  /** Moves the weights once towards the target of the output. */
  learn(inputs, targets) {
    return this.trainer.step([inputs], [targets]);
  }

  /** Returns the output, two floats. */
  async act(inputs) {
    return (await this.session.forward([inputs])).data;
  }

  /** Returns the SHA-256 of all weights, 64 hexadecimal digits. */
  hash() {
    return this.network.hash();
  }

  /** Returns the weights by name, as little-endian float32 in hexadecimal digits, layer by layer. */
  async weights() {
    const out = {};
    const names = (await this.network.weights()).map((weight) => weight.name).sort();
    for (const name of names) out[name] = floats((await this.network.get(name)).data);
    return out;
  }

  /** Flips one bit of a weight. */
  async flip(name, index, bit) {
    const values = await this.network.get(name);
    const data = Float32Array.from(values.data);
    new Uint32Array(data.buffer)[index] ^= 2 ** bit;
    await this.network.set(name, { data, shape: values.shape });
  }
}

/** Returns numbers as little-endian float32 in hexadecimal digits. */
function floats(values) {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeFloatLE(value, 4 * i));
  return bytes.toString('hex');
}

const clamped = (place) => Math.max(0, Math.min(FIELD - 1, place));

/** A character follows one player, and is taught to understand that player's call. */
class Character {
  constructor(number, players, brain) {
    Object.assign(this, { number, player: number % players, brain, inputs: null });
    this.x = (number * 37 + 5) % FIELD;
    this.y = (number * 53 + 11) % FIELD;
  }

  learnsIn(tick) {
    return this.inputs !== null && (tick + this.number) % 4 === 0;
  }

  /** Looks, acts and remembers the target of what it did. Every number is a fraction that float32 holds. */
  async move(player) {
    const [dx, dy] = [player.x - this.x, player.y - this.y];
    const call = [0, 1, 2].map((each) => Number(player.call === each));
    this.inputs = [dx / FIELD, dy / FIELD, ...call, this.x / FIELD, this.y / FIELD, (this.number % 8) / 8];
    const towards = [0.5, -0.5, 0][(player.call + this.number) % 3];
    this.targets = [Math.sign(dx) * towards, Math.sign(dy) * towards];
    this.output = await this.brain.act(this.inputs);
    const steps = Array.from(this.output, (out) => Number(out > 0.25) - Number(out < -0.25));
    this.x = clamped(this.x + steps[0]);
    this.y = clamped(this.y + steps[1]);
    // == and not Object.is: the sign of a target of -0 is 0.
    return steps.every((step, i) => step == Math.sign(this.targets[i])); // eslint-disable-line eqeqeq
  }
}

class World {
  static async create(engine, players, characters) {
    const world = new World();
    world.players = Array.from({ length: players }, (_, p) => ({
      x: (p * 29 + 7) % FIELD,
      y: (p * 41 + 3) % FIELD,
      call: 0,
    }));
    const brains = Array.from({ length: characters }, (_, number) => Brain.create(1000 + number, engine));
    world.characters = (await Promise.all(brains)).map((brain, number) => new Character(number, players, brain));
    world.tick = 0;
    world.right = 0;
    return world;
  }

  /** Moves the world by one tick and returns its hash. */
  async step(inputs, flip) {
    const learning = this.characters.filter((each) => each.learnsIn(this.tick));
    await Promise.all(learning.map((each) => each.brain.learn(each.inputs, each.targets)));
    if (flip && Number(flip[0]) === this.tick)
      await this.characters[flip[1]].brain.flip(flip[2], Number(flip[3]), Number(flip[4]));
    this.players.forEach((player, i) => {
      player.x = clamped(player.x + (inputs[i] % 3) - 1);
      player.y = clamped(player.y + (Math.floor(inputs[i] / 3) % 3) - 1);
      player.call = Math.floor(inputs[i] / 9);
    });
    const right = await Promise.all(this.characters.map((each) => each.move(this.players[each.player])));
    this.right = right.filter(Boolean).length;
    this.tick += 1;
    return this.hash();
  }

  /** SHA-256 over place, output and weights of every character. */
  async hash() {
    const hashes = await Promise.all(this.characters.map((each) => each.brain.hash()));
    const digest = createHash('sha256');
    this.characters.forEach((each, i) =>
      digest.update(`${each.x} ${each.y} ${floats(each.output)} ${hashes[i]}\n`, 'ascii'),
    );
    return digest.digest('hex');
  }

  /** Everything that the hash of the last tick covers, for `compare`. */
  async state() {
    const out = [];
    for (const each of this.characters)
      out.push({
        place: [each.x, each.y],
        input: floats(each.inputs),
        weights: await each.brain.weights(),
        output: floats(each.output),
      });
    return out;
  }
}

/** Stands for a keyboard: a walk, and a call that changes every 32 ticks. */
class Controls {
  constructor(player) {
    this.player = player;
    this.state = (0x9e3779b9 ^ (player + 1)) >>> 0;
  }

  next(tick) {
    let state = this.state;
    state = (state ^ (state << 13)) >>> 0;
    state = (state ^ (state >>> 17)) >>> 0;
    this.state = (state ^ (state << 5)) >>> 0;
    return ((this.state >>> 8) % 9) + 9 * ((Math.floor(tick / 32) + this.player) % 3);
  }
}

const { values: options, positionals } = parseArgs({
  options: { wasm: { type: 'string' }, flip: { type: 'string' } },
  allowPositionals: true,
});
const [port, folder, name] = positionals;
const flip = options.flip?.split(':');
const engine = await createEngine(
  options.wasm ? { kind: 'wasm', threads: 1, module: pathToFileURL(options.wasm).href } : { kind: 'native' },
);
const relay = connect({ host: '127.0.0.1', port: Number(port), noDelay: true });
const answers = createInterface({ input: relay })[Symbol.asyncIterator]();

/** Sends a line and returns the words of the answer. */
async function ask(...words) {
  relay.write(`${words.join(' ')}\n`);
  return ((await answers.next()).value ?? '').split(' ');
}

const [player, players, ticks, characters] = (await ask('hello', name)).slice(1).map(Number);
const world = await World.create(engine, players, characters);
const controls = new Controls(player);
const log = openSync(join(folder, `${name}.ticks`), 'w');
let hash = '-';
let answer = ['go'];
for (let tick = 0; tick < ticks && answer[0] === 'go'; ++tick) {
  answer = await ask('tick', tick, hash, controls.next(tick));
  if (answer[0] !== 'go') break;
  hash = await world.step(answer.slice(1).map(Number), flip);
  writeSync(log, `${tick} ${hash}\n`);
}
if (answer[0] === 'go') answer = await ask('end', ticks, hash, world.right);
closeSync(log);
const state = { name, tick: world.tick - 1, hash, characters: await world.state() };
writeFileSync(join(folder, `${name}.state.json`), JSON.stringify(state));
relay.destroy();
engine.dispose();
process.exitCode = answer[0] === 'equal' ? 0 : 3;
