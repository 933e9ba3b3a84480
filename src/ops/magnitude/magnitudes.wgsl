
// The largest magnitude of every 16384 elements, by its bits; a workgroup of 256 threads each.
fn run(group: u32, thread: u32) {
  let begin = 16384u * group;
  var largest = 0u;
  for (var i = begin + thread; i < min(begin + 16384u, elements()); i += 256u) {
    largest = max(largest, bits_x(i) & 0x7fffffffu);
  }
  largest = largest_of_threads(largest, thread);
  if (thread == 0u) { put_magnitudes(group, largest); }
}
