
// Which workgroups of try_updates() found a number that is not finite: the outcome of a weight is infinity if one of its own
// did, else 0. A workgroup of 256 threads per weight.
var<workgroup> found: array<u32, 256>;

fn run(group: u32, thread: u32) {
  var bad = 0u;
  for (var i = bits_ends(group) + thread; i < bits_ends(group + 1u); i += 256u) { bad |= bits_found_there(i); }
  found[thread] = bad;
  workgroupBarrier();
  for (var n = 128u; n != 0u; n >>= 1u) {
    if (thread < n) { found[thread] |= found[thread + n]; }
    workgroupBarrier();
  }
  if (thread == 0u) { put_outcomes(group, select(0u, 0x7f800000u, found[0] != 0u)); }
}
