
// y[r] = x[r] + row; a thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i < elements()) { store_y(i, snap(add(load_x(i), load_row(i % cols())))); }
}
