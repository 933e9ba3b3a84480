
// failed = 1 where an element is not finite; one workgroup of 256 threads.
var<workgroup> found: array<u32, 256>;

fn run(group: u32, thread: u32) {
  var bad = 0u;
  for (var i = thread; i < elements(); i += 256u) { bad |= select(1u, 0u, is_finite(load_x(i))); }
  found[thread] = bad;
  workgroupBarrier();
  for (var n = 128u; n != 0u; n >>= 1u) {
    if (thread < n) { found[thread] |= found[thread + n]; }
    workgroupBarrier();
  }
  if (thread == 0u && found[0] != 0u) { put_failed(0u, 0x3f800000u); }
}
