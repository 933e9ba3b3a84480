
// Which element of an input axis an output position o meets at tap k of the kernel: (o * step + k * reach + begin) /
// spread. `axes` holds the words of an Axis for each of three.
struct Axis {
  extent: u32,  // of the input
  out: u32,
  taps: u32,
  step: i32,
  reach: i32,
  begin: i32,
  spread: i32,
}
const is_hole = -2;  // between elements that a transposed convolution spreads
const is_padding = -1;

fn axis_of(a: u32) -> Axis {
  let at = 7u * a;
  return Axis(bits_axes(at), bits_axes(at + 1u), bits_axes(at + 2u), bitcast<i32>(bits_axes(at + 3u)),
              bitcast<i32>(bits_axes(at + 4u)), bitcast<i32>(bits_axes(at + 5u)), bitcast<i32>(bits_axes(at + 6u)));
}

fn input_of(axis: Axis, o: u32, k: u32) -> i32 {
  let at = bitcast<i32>(o) * axis.step + bitcast<i32>(k) * axis.reach + axis.begin;
  if (spreads == 0u) { return select(at, is_padding, at < 0 || at >= bitcast<i32>(axis.extent)); }
  if (bitcast<u32>(abs(at)) % bitcast<u32>(axis.spread) != 0u) { return is_hole; }
  let element = at / axis.spread;
  return select(element, is_padding, at < 0 || element >= bitcast<i32>(axis.extent));
}
