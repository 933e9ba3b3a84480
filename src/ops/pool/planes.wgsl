
// y[p] = the mean of a plane's elements, or the largest of them; a plane per workgroup of 256 threads.
fn run(row: u32, thread: u32) {
  let base = row * cols();
  var result = neg(infinity());
  if (averages != 0u) {
    begin_lanes(thread);
    for (var round = 0u; round < cols(); round += 16u * lane_block) {
      let begin = round + thread / 16u * lane_block;
      var part = 0.0;
      for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
        part = add_plain(part, load_x(base + i));
      }
      add_lane_parts(thread, part);
    }
    result = div(fold_lanes(), to_float_u(cols()));
  } else {
    var largest = 0u;
    for (var i = thread; i < cols(); i += 256u) { largest = larger_of(largest, load_x(base + i)); }
    largest = largest_of_threads(largest, thread);
    if (largest > 1u) { result = bitcast<f32>(unordered(largest)); }
  }
  if (thread == 0u) { store_y(row, snap(result)); }
}
