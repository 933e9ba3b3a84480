
// What weights of one span are once they have been encoded.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let scale = scale_of(0u);
  let zero = zero_of(0u);
  store_y(i, value_of(code_of(bits_values(i), scale, zero), scale, zero));
}
