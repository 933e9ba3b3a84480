
// The bound of all elements of a tensor, from the largest magnitudes of parts of them; a workgroup of 256 threads per tensor.
fn run(group: u32, thread: u32) {
  let begin = bits_ends(group);
  let end = bits_ends(group + 1u);
  var largest = 0u;
  for (var i = begin + thread; i < end; i += 256u) { largest = max(largest, bits_magnitudes(i)); }
  let half = largest_of_threads(largest, thread) >> 16u;
  if (thread != 0u) { return; }
  if (begin == end) {
    put_bounds(group, 0u);
  } else if (half >= 0x7f80u) {
    put_bounds(group, 0x7f800000u);
  } else {
    put_bounds(group, min((half + 1u) << 16u, 0x7f7fffffu));
  }
}
