
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i < elements()) { put_y(i, value()); }
}
