
// y = 1 at the largest entry of each row, the first of equals, else 0; a row per workgroup of 256 threads. A row of
// nothing but NaN has its 1 at entry 0.
fn run(row: u32, thread: u32) {
  let base = row * cols();
  let first = first_largest(base, cols(), thread);
  for (var i = thread; i < cols(); i += 256u) { put_y(base + i, select(0u, 0x3f800000u, i == first)); }
}
