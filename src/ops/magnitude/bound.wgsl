
// The bound of all elements, from the largest magnitudes of parts of them; one workgroup of 256 threads.
fn run(group: u32, thread: u32) {
  var largest = 0u;
  for (var i = thread; i < count(); i += 256u) { largest = max(largest, bits_magnitudes(i)); }
  let half = largest_of_threads(largest, thread) >> 16u;
  if (thread != 0u) { return; }
  if (count() == 0u) {
    put_bound(0u, 0u);
  } else if (half >= 0x7f80u) {
    put_bound(0u, 0x7f800000u);
  } else {
    put_bound(0u, min((half + 1u) << 16u, 0x7f7fffffu));
  }
}
