
// y = sqrt(x + offset), or x + offset as it is stored without `roots`; a thread per element.
// f32: offset
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let sum = add(load_x(i), offset());
  if (roots != 0u) {
    store_y(i, root(sum));
  } else {
    store_y(i, snap(sum));
  }
}
