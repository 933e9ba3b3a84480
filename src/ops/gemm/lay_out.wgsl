
// to[first + r, c] = from[r, c], a matrix of any strides into rows; a thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  put_to(first() + i, bits_from(i / cols() * row_stride() + i % cols() * col_stride()));
}
