
// The largest upper half of elements without their sign, of the elements that a workgroup of 256 threads takes: every
// groups()-th run of 256.
var<workgroup> halves: array<u32, 256>;

fn largest_half(group: u32, thread: u32) -> u32 {
  var half = 0u;
  for (var i = 256u * group + thread; i < elements(); i += 256u * groups()) {
    half = max(half, (bits_x(i) >> 16u) & 0x7fffu);
  }
  halves[thread] = half;
  workgroupBarrier();
  for (var n = 128u; n != 0u; n >>= 1u) {
    if (thread < n) { halves[thread] = max(halves[thread], halves[thread + n]); }
    workgroupBarrier();
  }
  return halves[0];
}

fn run(group: u32, thread: u32) {
  let half = largest_half(group, thread);
  if (thread == 0u) { put_bounds(group, half << 16u); }
}
