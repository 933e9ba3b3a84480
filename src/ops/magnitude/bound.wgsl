
// From the largest halves of workgroups the bound of all: one more, unless that is no number. One workgroup of 256 threads.
var<workgroup> halves: array<u32, 256>;

fn run(group: u32, thread: u32) {
  var half = 0u;
  for (var i = thread; i < groups(); i += 256u) { half = max(half, bits_bounds(i) >> 16u); }
  halves[thread] = half;
  workgroupBarrier();
  for (var n = 128u; n != 0u; n >>= 1u) {
    if (thread < n) { halves[thread] = max(halves[thread], halves[thread + n]); }
    workgroupBarrier();
  }
  if (thread == 0u) {
    half = halves[0];
    var bits = (half + 1u) << 16u;
    if (half >= 0x7f80u) { bits = 0x7f800000u; }
    if (half == 0x7f7fu) { bits = 0x7f7fffffu; }
    put_bound(0u, bits);
  }
}
