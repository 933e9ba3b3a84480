
// scales[0] is the largest power of two that leaves the largest magnitude at the one with the bits `limit` or below,
// scales[1] its inverse; both are 0 where that magnitude is 0 or no finite number. One workgroup of 256 threads.
fn power_of_two(e: i32) -> u32 { return bitcast<u32>(127 + e) << 23u; }

fn run(group: u32, thread: u32) {
  var found = 0u;
  for (var i = thread; i < count(); i += 256u) { found = max(found, bits_magnitudes(i)); }
  found = largest_of_threads(found, thread);
  if (thread != 0u) { return; }
  if (found == 0u || found >= 0x7f800000u) {
    put_scales(0u, 0u);
    put_scales(1u, 0u);
    return;
  }
  // Magnitudes are at least 2^-51, so the shift is finite.
  var shift = bitcast<i32>(limit() >> 23u) - bitcast<i32>(found >> 23u);
  if ((found & 0x7fffffu) > (limit() & 0x7fffffu)) { shift -= 1; }
  shift = clamp(shift, -120, 120);
  put_scales(0u, power_of_two(shift));
  put_scales(1u, power_of_two(-shift));
}
