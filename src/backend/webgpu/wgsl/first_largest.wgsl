
// Where the first of the largest of `n` numbers stands, from element `base` of x on, found by a workgroup of 256 threads. A
// NaN loses; of nothing but NaN it is 0.
var<workgroup> first_of: array<u32, 256>;

fn first_largest(base: u32, n: u32, thread: u32) -> u32 {
  var largest = 0u;
  var at = 0u;
  for (var i = thread; i < n; i += 256u) {
    // Zeros are equal whatever their sign.
    let next = larger_of(0u, bitcast<f32>(select(bits_x(base + i), 0u, magnitude_of(load_x(base + i)) == 0u)));
    if (next > largest) {
      largest = next;
      at = i;
    }
  }
  let top = largest_of_threads(largest, thread);
  first_of[thread] = select(0xffffffffu, at, largest == top);
  workgroupBarrier();
  for (var half = 128u; half != 0u; half >>= 1u) {
    if (thread < half) { first_of[thread] = min(first_of[thread], first_of[thread + half]); }
    workgroupBarrier();
  }
  let first = first_of[0];
  workgroupBarrier();
  return first;
}
