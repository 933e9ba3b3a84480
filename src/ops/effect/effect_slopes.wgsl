
// dm[g, column]: the sum by chain64 over what the number does in its group; a workgroup of 64 threads each.
fn term(i: u32) -> f32 {
  if (kind == 1u) { return mul(load_dy(i), load_y0(i)); }
  if (kind == 2u) { return mul(load_dy(i), noise_of(i)); }
  return load_dy(i);
}

fn run(group: u32, thread: u32) {
  let g = group / columns();
  let column = group % columns();
  var first = 0u;
  var period = 1u;
  var terms = 0u;
  if (kind != 3u) {
    terms = select(0u, n(), column == 0u);
  } else if (column != 0u && column <= n()) {
    first = column - 1u;
    period = columns() - 1u;
    terms = (n() - first + period - 1u) / period;
  }
  if (!acts(g)) { terms = 0u; }
  var total = 0.0;
  // Every group has as many rounds as the longest: barriers stand in them.
  for (var round = 0u; round < n(); round += 64u * 64u) {
    let begin = round + 64u * thread;
    var part = 0.0;
    for (var k = begin; k < min(begin + 64u, terms); k++) {
      part = add_plain(part, term(g * n() + first + k * period));
    }
    total = add_chain_parts(total, thread, part);
  }
  if (thread == 0u) { store_dm(group, snap(total)); }
}
