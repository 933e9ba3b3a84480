
// Eight words of a thread, so that many are on their way at once.
fn run(group: u32, thread: u32) {
  for (var i = 512u * group + thread; i < min(512u * (group + 1u), elements()); i += 64u) { put_y(i, bits_x(i)); }
}
