
// q[g, branch] = the sum by chain64 of dy b over group g; a workgroup of 64 threads each.
fn run(group: u32, thread: u32) {
  var total = 0.0;
  for (var round = 0u; round < width(); round += 64u * 64u) {
    let begin = round + 64u * thread;
    var part = 0.0;
    for (var i = begin; i < min(begin + 64u, width()); i++) {
      part = add_plain(part, mul(load_dy(group * width() + i), load_b(group * width() + i)));
    }
    total = add_chain_parts(total, thread, part);
  }
  if (thread == 0u) { store_q(group * branches() + branch(), snap(total)); }
}
