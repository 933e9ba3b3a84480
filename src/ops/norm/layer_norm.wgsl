
// y = (x - mean) / deviation * gamma + beta. A row per workgroup of 256 threads: `cols` elements, `positions` of them to
// a channel; row r has the channels of group r % groups.
// f32: eps
fn run(row: u32, thread: u32) {
  let base = row * cols;
  let moments = moments_of(base, thread);
  let inverse = div(1.0, moments.y);
  for (var i = thread; i < cols; i += 256u) {
    let channel = row % groups * (cols / positions) + i / positions;
    var beta = 0.0;
    if (has_beta != 0u) { beta = load_beta(channel); }
    store_y(base + i, normalised(load_x(base + i), moments.x, inverse, load_gamma(channel), beta));
  }
}
