
// sum_blocks(): the sixteen lanes of each block of 1024 elements, of every sum; a thread per lane of a block. The body before
// this has term(s, i), what element i adds to sum s.
fn run(group: u32, thread: u32) {
  let at = 64u * group + thread;
  let block = at / 16u;
  if (block >= blocks()) { return; }
  for (var s = 0u; s < sums; s++) {
    var sum = 0.0;
    for (var i = 1024u * block + at % 16u; i < min(1024u * (block + 1u), elements()); i += 16u) {
      sum = add_plain(sum, term(s, i));
    }
    store_lanes((block * sums + s) * 16u + at % 16u, sum);
  }
}
