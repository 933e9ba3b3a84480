
// The share of rows in which a branch is the best; a thread per branch.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= cols()) { return; }
  var count = 0u;
  for (var g = 0u; g < groups(); g++) { count += select(0u, 1u, bits_best(g) == i); }
  store_shares(i, div(to_float_u(min(count, 1u << 24u)), to_float_u(groups())));
}
