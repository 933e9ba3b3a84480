
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
  // Loads come before the work on them, here four of each row and below sixteen: each would be waited for otherwise.
  for (var first = thread; first < cols; first += 1024u) {
    let x = four_of(base, first, 256u, cols);
    let gamma = vec4<f32>(gain_of(first), gain_of(first + 256u), gain_of(first + 512u), gain_of(first + 768u));
    for (var k = 0u; k < 4u; k++) {
      let i = first + 256u * k;
      if (i < cols) { store_y(base + i, snap(mul(snap(div(x[k], rms)), gamma[k]))); }
    }
  }
}

// Elements first, first + step ... of a row, 0 from `end` on.
fn four_of(base: u32, first: u32, step: u32, end: u32) -> vec4<f32> {
  return vec4<f32>(one_of(base, first, end), one_of(base, first + step, end), one_of(base, first + 2u * step, end),
                   one_of(base, first + 3u * step, end));
}
fn one_of(base: u32, i: u32, end: u32) -> f32 {
  return bitcast<f32>(select(0u, bits_x(base + min(i, cols - 1u)), i < end));
}
fn gain_of(i: u32) -> f32 { return load_gamma(min(i, cols - 1u)); }
fn with_squares(part: f32, x: vec4<f32>) -> f32 {
  return add_plain(add_plain(add_plain(add_plain(part, mul(x.x, x.x)), mul(x.y, x.y)), mul(x.z, x.z)), mul(x.w, x.w));
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
    let end = min(begin + lane_block, cols);
    var part = 0.0;
    for (var i = begin + thread % 16u; i < end; i += 256u) {
      let a = four_of(base, i, 16u, end);
      let b = four_of(base, i + 64u, 16u, end);
      let c = four_of(base, i + 128u, 16u, end);
      let d = four_of(base, i + 192u, 16u, end);
      part = with_squares(with_squares(with_squares(with_squares(part, a), b), c), d);
    }
    add_lane_parts(thread, part);
  }
}
