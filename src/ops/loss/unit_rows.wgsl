
// unit = o / |o|, norm = |o|; a row per workgroup of 256 threads.
fn run(row: u32, thread: u32) {
  let norm = norm_of(false, row * cols(), thread);
  if (thread == 0u) { store_norm(row, norm.size); }
  for (var i = thread; i < cols(); i += 256u) { store_unit(row * cols() + i, unit_entry(false, row * cols() + i, norm)); }
}
