
// totals[s] = the fold of the sum over blocks, ascending; then the op's finish(), which one thread calls.
var<workgroup> lanes_of: array<f32, 16>;
var<private> totals: array<f32, 4>;

fn run(group: u32, thread: u32) {
  for (var s = 0u; s < sums; s++) {
    if (thread < 16u) {
      var sum = 0.0;
      for (var block = 0u; block < blocks(); block++) {
        sum = add_plain(sum, load_lanes((block * sums + s) * 16u + thread));
      }
      lanes_of[thread] = sum;
    }
    workgroupBarrier();
    if (thread == 0u) {
      for (var n = 8u; n != 0u; n >>= 1u) {
        for (var j = 0u; j < n; j++) { lanes_of[j] = add_plain(lanes_of[j], lanes_of[j + n]); }
      }
      totals[s] = lanes_of[0];
    }
    workgroupBarrier();
  }
  if (thread == 0u) { finish(); }
}
