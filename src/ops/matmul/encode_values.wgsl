
// What weights are once they have been encoded.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let span = span_of(i / cols(), i % cols());
  let scale = scale_of(span);
  let zero = zero_of(span);
  store_y(i, value_of(code_of(bits_values(i), scale, zero), scale, zero));
}
