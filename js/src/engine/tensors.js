// Numbers that go in and come out: typed arrays with a shape, nested lists.
import { LoomError, mismatch } from '../errors.js';
import { whole } from './options.js';

/** Values with a shape, row-major, as the library returns them. */
export class Tensor {
  /**
   * @param {Float32Array|Float64Array|Int32Array|BigInt64Array|Uint8Array} data
   * @param {number[]} shape
   */
  constructor(data, shape) {
    this.data = data;
    this.shape = shape;
  }

  /** Nested lists of numbers. */
  toArray() {
    let at = 0;
    const nested = (depth) =>
      depth === this.shape.length
        ? this.data[at++]
        : Array.from({ length: this.shape[depth] }, () => nested(depth + 1));
    return nested(0);
  }
}

/** True if a typed array's memory was moved to another thread. */
export function isDetached(array) {
  if (array.length !== 0) return false;
  try {
    return new Uint8Array(array.buffer).length < 0;
  } catch {
    return true;
  }
}

/** Extents of a shape. */
export function shapeOf(shape, what) {
  if (!Array.isArray(shape)) throw mismatch(what, 'a list of whole numbers', shape);
  return shape.map((extent) => whole(extent, what, 0, 2 ** 40));
}

/**
 * Numbers as a Tensor of an element type: a Tensor, a typed array (of one axis), a number or nested lists. A typed
 * array of that type is not copied.
 * @param {unknown} value
 * @param {string} what its name in messages
 * @param {Function} [type] Float32Array, Float64Array or another typed array
 */
export function given(value, what, type = Float32Array) {
  if (typeof value === 'object' && value !== null && ArrayBuffer.isView(value.data)) {
    const data = typed(value.data, what, type);
    const shape = shapeOf(value.shape, `the shape of ${what}`);
    const size = shape.reduce((product, extent) => product * extent, 1);
    if (size !== data.length) {
      throw new LoomError(
        'ShapeMismatch',
        `${what} has the shape [${shape}] of ${size} numbers, and ${data.length} numbers`,
      );
    }
    return new Tensor(data, shape);
  }
  if (ArrayBuffer.isView(value)) return new Tensor(typed(value, what, type), [value.length]);
  const shape = [];
  for (let part = value; Array.isArray(part) || ArrayBuffer.isView(part); part = part[0]) shape.push(part.length);
  const flat = [];
  flatten(value, shape, 0, flat, what);
  return new Tensor(converted(flat, what, type), shape);
}

/** Bounds of the whole numbers that typed arrays hold; an array of another kind holds any number. */
const BOUNDS = new Map([
  [Int8Array, [-(2 ** 7), 2 ** 7 - 1]],
  [Uint8Array, [0, 2 ** 8 - 1]],
  [Int16Array, [-(2 ** 15), 2 ** 15 - 1]],
  [Uint16Array, [0, 2 ** 16 - 1]],
  [Int32Array, [-(2 ** 31), 2 ** 31 - 1]],
  [Uint32Array, [0, 2 ** 32 - 1]],
  [BigInt64Array, [-(2n ** 63n), 2n ** 63n - 1n]],
  [BigUint64Array, [0n, 2n ** 64n - 1n]],
]);

/** Numbers as a typed array. Whole ones must be whole and fit: a typed array would cut them. */
function converted(numbers, what, type) {
  const bounds = BOUNDS.get(type);
  if (bounds === undefined) return type.from(numbers, Number);
  const convert = typeof bounds[0] === 'bigint' ? BigInt : Number;
  return type.from(numbers, (each) => {
    if (typeof each === 'boolean') return convert(each);
    return convert(whole(each, `a number of ${what}`, ...bounds));
  });
}

function typed(data, what, type) {
  if (isDetached(data))
    throw new LoomError('InvalidArgument', `${what}: its memory was moved to another thread, so it has no numbers`);
  if (data instanceof type) return data;
  if (!('length' in data)) throw mismatch(what, 'numbers', data);
  return converted(data, what, type);
}

function flatten(value, shape, depth, flat, what) {
  if (depth === shape.length) {
    if (typeof value !== 'number' && typeof value !== 'bigint' && typeof value !== 'boolean')
      throw mismatch(what, 'numbers', value);
    flat.push(value);
    return;
  }
  if (!('length' in Object(value)) || value.length !== shape[depth]) {
    throw new LoomError('ShapeMismatch', `${what}: rows have different lengths, at least one is not ${shape[depth]}`);
  }
  for (let i = 0; i < value.length; i++) flatten(value[i], shape, depth + 1, flat, what);
}

/** A loom_tensor of a Tensor; element: its ONNX number. */
export function tensorStruct(frame, tensor, element) {
  const { pointer } = frame.array(tensor.data);
  const extents = frame.extents(tensor.shape);
  return frame.struct('tensor', {
    element,
    data: pointer,
    data_size: tensor.data.byteLength,
    shape: extents.pointer,
    shape_count: extents.count,
  });
}

export function extentsAt(library, pointer, rank) {
  return Array.from(library.core.view('u64', pointer, rank), Number);
}

/** ONNX element numbers and their typed arrays; codes of types without an array come as their bits. */
export const ELEMENTS = {
  1: Float32Array,
  2: Uint8Array,
  3: Int8Array,
  4: Uint16Array,
  5: Int16Array,
  6: Int32Array,
  7: BigInt64Array,
  9: Uint8Array,
  10: Uint16Array,
  11: Float64Array,
  12: Uint32Array,
  13: BigUint64Array,
  16: Uint16Array,
  17: Uint8Array,
  19: Uint8Array,
  21: Uint8Array,
  22: Uint8Array,
};
export const ELEMENT_NAMES = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
  float8_e4m3fn: 17,
  float8_e5m2: 19,
  uint4: 21,
  int4: 22,
};

/** A copy of a loom_tensor that the library filled. */
export function tensorAt(library, fields) {
  const kind = ELEMENTS[fields.element];
  const bytes = library.core.view('u8', fields.data, fields.data_size).slice();
  return new Tensor(
    new kind(bytes.buffer, 0, bytes.length / kind.BYTES_PER_ELEMENT),
    extentsAt(library, fields.shape, fields.shape_count),
  );
}
