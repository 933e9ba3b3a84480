
// softmax_crossentropy with targets, or with smoothed classes; a row per workgroup of 256 threads. Rows of class -1 do not
// count.
// f32: keep_share, everywhere
fn share(base: u32, i: u32, wanted: u32) -> f32 {
  var t = 0.0;
  if (by_class == 0u) {
    t = load_targets(base + i);
  } else if (i == wanted) {
    t = 1.0;
  }
  let v = snap(add(mul(t, keep_share()), everywhere()));
  if (has_weights == 0u) { return v; }
  return snap(mul(v, load_weights(i)));
}

fn run(row: u32, thread: u32) {
  let base = row * cols();
  var wanted = 0u;
  if (by_class != 0u) { wanted = bits_targets(row); }
  let sums = softmax_sums(base, cols(), thread);
  begin_lanes(thread);
  for (var first = 0u; first < cols(); first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
      var v = 0.0;
      if (i != sums.at) { v = share(base, i, wanted); }
      part = add_plain(part, v);
    }
    add_lane_parts(thread, part);
  }
  let others = fold_lanes();
  var own = 0.0;
  if (sums.at < cols()) { own = share(base, sums.at, wanted); }
  let sum = snap(add(others, own));
  let factor = div(sum, sums.total);
  let scale = load_scales(row / rows_per_scale());
  begin_lanes(thread);
  for (var first = 0u; first < cols(); first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
      let v = share(base, i, wanted);
      if (has_gradient != 0u && wanted == 0xffffffffu) {
        put_gradient(base + i, 0u);
      } else if (has_gradient != 0u) {
        if (i == sums.at) {
          store_gradient(base + i, snap(mul(sub(others, snap(mul(sum, div(sums.rest, sums.total)))), scale)));
        } else {
          store_gradient(base + i, snap(mul(sub(mul(exponential(base + i, sums.top), factor), v), scale)));
        }
      }
      let term = mul(v, sub(sums.log_total, snap(sub(load_x(base + i), sums.top))));
      part = add_plain(part, select_f(equal(v, 0.0), 0.0, term));
    }
    add_lane_parts(thread, part);
  }
  let value = snap(fold_lanes());
  if (thread == 0u) { store_values(row, select_f(wanted == 0xffffffffu, 0.0, value)); }
}
