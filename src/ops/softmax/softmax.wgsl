
// A distribution of `width` entries per workgroup of 256 threads, `count` of them one after the other in a row.
// masked: 0, or entries count as seen: 1: where a list of words says so, and beyond its end; 2: by the mask of the call.
// f32: temperature
fn is_seen(at: u32, i: u32) -> bool {
  if (masked == 0u) { return true; }
  if (masked == 2u) { return greater(load_mask(at), 0.0); }
  return i >= listed() || bits_mask(i) != 0u;
}
fn logit(at: u32) -> f32 { return snap(div(load_x(at), temperature())); }

fn run(group: u32, thread: u32) {
  let base = group / count() * cols() + first() + group % count() * width();
  var largest = 0u;
  for (var i = thread; i < width(); i += 256u) {
    if (is_seen(base + i, i)) { largest = larger_of(largest, logit(base + i)); }
  }
  largest = largest_of_threads(largest, thread);
  let top = bitcast<f32>(unordered(largest));
  begin_lanes(thread);
  for (var round = 0u; round < width(); round += 16u * lane_block) {
    let begin = round + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, width()); i += 16u) {
      var e = 0.0;
      if (is_seen(base + i, i)) { e = snap(exp_f(snap(sub(logit(base + i), top)))); }
      store_p(base + i, e);
      part = add_plain(part, e);
    }
    add_lane_parts(thread, part);
  }
  storageBarrier();
  let total = fold_lanes();
  for (var i = thread; i < width(); i += 256u) {
    if (largest == 0u) {
      put_p(base + i, 0u);
    } else {
      store_p(base + i, snap(div(load_p(base + i), total)));
    }
  }
}
