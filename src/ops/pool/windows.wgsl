
// Windows over three axes; `axes` holds the words of a WindowAxis for each.
struct WindowAxis {
  extent: u32,
  out: u32,
  taps: u32,
  stride: u32,
  padding: u32,
  dilation: u32,
}

fn window_axis(a: u32) -> WindowAxis {
  let at = 6u * a;
  return WindowAxis(bits_axes(at), bits_axes(at + 1u), bits_axes(at + 2u), bits_axes(at + 3u), bits_axes(at + 4u),
                    bits_axes(at + 5u));
}

// Wraps outside.
fn element_under(axis: WindowAxis, o: u32, k: u32) -> u32 { return o * axis.stride + k * axis.dilation - axis.padding; }

// Positions of window o that count: those inside of the input, or of the padded input.
fn counted(axis: WindowAxis, o: u32) -> u32 {
  let low = select(axis.padding, 0u, count_include_pad != 0u);
  let high = axis.extent + select(axis.padding, 2u * axis.padding, count_include_pad != 0u);
  let begin = o * axis.stride;
  return min(begin + axis.taps, high) - max(begin, low);
}
