
// y = x / sqrt(mean of x^2 + eps) * gamma, a row per workgroup of 256 threads.
// f32: eps
fn run(row: u32, thread: u32) {
  let base = row * cols;
  begin_lanes(thread);
  if (cols <= lane_block) {
    add_short_row(base, thread);
  } else {
    add_long_row(base, thread);
  }
  let rms = root(add(div(fold_lanes(), to_float_u(cols)), eps()));
  for (var i = thread; i < cols; i += 256u) {
    store_y(base + i, snap(mul(snap(div(load_x(base + i), rms)), load_gamma(i))));
  }
}

// A row of one block, which all threads read and sixteen add.
fn add_short_row(base: u32, thread: u32) {
  var part = 0.0;
  for (var first = 0u; first < cols; first += 256u) {
    if (first + thread < cols) {
      let v = load_x(base + first + thread);
      lane_parts[thread] = mul(v, v);
    }
    workgroupBarrier();
    if (thread < 16u) {
      for (var i = thread; i < min(256u, cols - first); i += 16u) { part = add_plain(part, lane_parts[i]); }
    }
    workgroupBarrier();
  }
  add_lane_parts(thread, part);
}

fn add_long_row(base: u32, thread: u32) {
  for (var first = 0u; first < cols; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols); i += 16u) {
      let v = load_x(base + i);
      part = add_plain(part, mul(v, v));
    }
    add_lane_parts(thread, part);
  }
}
