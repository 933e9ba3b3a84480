
// y = 1 at the largest entry of each row, the first of equals, else 0; a row per workgroup of 256 threads. A row of
// nothing but NaN has its 1 at entry 0.
var<workgroup> first_of: array<u32, 256>;

fn run(row: u32, thread: u32) {
  let base = row * cols();
  var largest = 0u;
  var at = 0u;
  for (var i = thread; i < cols(); i += 256u) {
    // Zeros are equal whatever their sign.
    let next = larger_of(0u, bitcast<f32>(select(bits_p(base + i), 0u, magnitude_of(load_p(base + i)) == 0u)));
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
  for (var i = thread; i < cols(); i += 256u) { put_y(base + i, select(0u, 0x3f800000u, i == first_of[0])); }
}
