
// column_sums.wgsl with planes of `positions`, a workgroup per channel.
fn plane_term(at: u32, mean: f32) -> f32 {
  if (has_b != 0u) { return mul(load_a(at), load_b(at)); }
  return load_a(at);
}

fn run(channel: u32, thread: u32) {
  var total = load_c(channel);
  for (var first = 0u; first < samples(); first += block()) {
    total = snap(add(total, planes_sum(channel, first, min(first + block(), samples()), thread, 0.0)));
  }
  storageBarrier();  // c is read by all
  if (thread == 0u) { store_c(channel, total); }
}
