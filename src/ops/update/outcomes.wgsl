
// Which workgroups of try_update() found a number that is not finite: outcome is infinity if one did, else 0. One workgroup.
var<workgroup> found: array<u32, 256>;

fn run(group: u32, thread: u32) {
  var bad = 0u;
  for (var i = thread; i < groups(); i += 256u) { bad |= bits_outcomes(i); }
  found[thread] = bad;
  workgroupBarrier();
  for (var n = 128u; n != 0u; n >>= 1u) {
    if (thread < n) { found[thread] |= found[thread + n]; }
    workgroupBarrier();
  }
  if (thread == 0u) { put_outcome(0u, select(0u, 0x7f800000u, found[0] != 0u)); }
}
