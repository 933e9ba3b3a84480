// Pictures and sounds as the inputs of a graph.
import { PageError } from './notice.js';

const RATE = 16000,
  MOST_SECONDS = 300;
const FREE_FRAME = 576; // samples, where a graph leaves the length open: 512 and the 64 before them
const isOpen = (extent) => typeof extent !== 'number';

/** Finds what a graph can be run on: {picture} or {sound}, or neither. */
export function roleOf(info) {
  const picture = info.inputs.find(({ type, shape }) => shape?.length === 4 && ['float32', 'uint8'].includes(type));
  if (picture && info.inputs.length === 1) {
    const [, second, , last] = picture.shape;
    const isLast = [1, 3].includes(last) && ![1, 3].includes(second);
    return { picture, layout: isLast ? 'NHWC' : 'NCHW' };
  }
  const sound = info.inputs.find(({ type, shape }) => type === 'float32' && shape?.length === 2);
  return sound ? { sound } : {};
}

const SCALINGS = {
  unit: () => (value) => value / 255,
  signed: () => (value) => value / 127.5 - 1,
  bytes: () => (value) => value,
  imagenet: () => (value, channel) => (value / 255 - [0.485, 0.456, 0.406][channel]) / [0.229, 0.224, 0.225][channel],
};

const roundTo32 = (extent) => Math.max(32, Math.round(extent / 32) * 32);

/** Pixels of a picture; SVG files are drawn, since createImageBitmap() takes none. */
async function bitmapOf(file) {
  if (file.type !== 'image/svg+xml') return createImageBitmap(file);
  const url = URL.createObjectURL(file);
  try {
    const image = Object.assign(new Image(), { src: url });
    await image.decode();
    return await createImageBitmap(image);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Reads a picture as the input of a graph. Returns {input, bitmap, width, height}. */
export async function pictureInput(file, { picture, layout }, scaling, side) {
  const bitmap = await bitmapOf(file).catch(() => {
    throw new PageError(`${file.name} is not a picture that this browser reads.`);
  });
  const shape = picture.shape;
  const [channelsAt, heightAt, widthAt] = layout === 'NHWC' ? [3, 1, 2] : [1, 2, 3];
  const ratio = side / Math.max(bitmap.width, bitmap.height);
  const height = isOpen(shape[heightAt]) ? roundTo32(bitmap.height * ratio) : shape[heightAt];
  const width = isOpen(shape[widthAt]) ? roundTo32(bitmap.width * ratio) : shape[widthAt];
  const channels = isOpen(shape[channelsAt]) ? 3 : shape[channelsAt];
  if (![1, 3].includes(channels)) throw new PageError(`The graph takes ${channels} channels; a picture has 1 or 3.`);
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0, width, height);
  const pixels = context.getImageData(0, 0, width, height).data;
  const scale = SCALINGS[scaling]();
  const data = new (picture.type === 'uint8' ? Uint8Array : Float32Array)(channels * height * width);
  const plane = height * width;
  for (let at = 0; at < plane; ++at) {
    for (let c = 0; c < channels; ++c) {
      const value =
        channels === 1 ? (pixels[4 * at] + pixels[4 * at + 1] + pixels[4 * at + 2]) / 3 : pixels[4 * at + c];
      const to = layout === 'NHWC' ? at * channels + c : c * plane + at;
      data[to] = picture.type === 'uint8' ? value : scale(value, c);
    }
  }
  const extents = layout === 'NHWC' ? [1, height, width, channels] : [1, channels, height, width];
  return { input: { name: picture.name, shape: extents, data }, bitmap, width, height };
}

/** Reads a sound as one channel of 16 000 samples per second. */
async function samplesOf(file) {
  const bytes = await file.arrayBuffer();
  let buffer;
  try {
    buffer = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(bytes);
  } catch {
    throw new PageError(`${file.name} is not a sound that this browser reads.`);
  }
  if (buffer.duration > MOST_SECONDS)
    throw new PageError(
      `${file.name} lasts ${Math.round(buffer.duration)} seconds; this page takes ${MOST_SECONDS} at most.`,
    );
  const samples = buffer.getChannelData(0).slice();
  for (let channel = 1; channel < buffer.numberOfChannels; ++channel) {
    buffer.getChannelData(channel).forEach((value, i) => (samples[i] += value));
  }
  return samples.map((value) => value / buffer.numberOfChannels);
}

/** Cuts a sound into frames, each of which begins with the last samples of the one before. */
export async function soundInput(file, info, sound) {
  const samples = await samplesOf(file);
  const length = sound.shape[1];
  const size = isOpen(length) ? FREE_FRAME : length;
  const step = 2 ** Math.floor(Math.log2(size)),
    before = size - step;
  const count = Math.ceil(samples.length / step);
  if (count === 0) throw new PageError(`${file.name} holds no sound.`);
  const frames = new Float32Array(count * size);
  for (let i = 0; i < count; ++i) {
    const from = i * step - before;
    frames.set(
      samples.subarray(Math.max(0, from), Math.min(samples.length, from + size)),
      i * size + Math.max(0, -from),
    );
  }
  const rest = info.inputs.filter(({ name }) => name !== sound.name);
  return {
    samples,
    frames,
    size,
    name: sound.name,
    secondsPerFrame: step / RATE,
    states: statesOf(info, rest),
    others: Object.fromEntries(rest.map((input) => [input.name, restOf(input)])),
  };
}

// Zeros for a state, the rate for a whole number.
function restOf({ name, type, shape }) {
  const extents = shape.map((extent) => (isOpen(extent) ? 1 : extent));
  const count = extents.reduce((product, extent) => product * extent, 1);
  if (type === 'int64') return { shape: extents, data: new BigInt64Array(count).fill(BigInt(RATE)) };
  if (type === 'float32') return { shape: extents, data: new Float32Array(count) };
  throw new PageError(`The graph's input ${name} is of type ${type}, which this page cannot fill.`);
}

/** Pairs states with the outputs that follow them: "h" and "hn", "state" and "stateN", else in their order. */
function statesOf(info, others) {
  const wanted = others.filter(({ type }) => type === 'float32').map(({ name }) => name);
  const outputs = info.outputs.map(({ name }) => name);
  const named = wanted.map((name) => outputs.find((output) => output.toLowerCase().startsWith(name.toLowerCase())));
  const inOrder = outputs.slice(outputs.length - wanted.length);
  return Object.fromEntries(wanted.map((name, i) => [name, named[i] ?? inOrder[i]]));
}
