
// norm = the root of the sum over blocks, ascending, and its scale; with `second` where the norm is not finite. One workgroup.
// f32: scale
var<workgroup> total: array<f32, 16>;

fn run(group: u32, thread: u32) {
  if (thread < 16u) {
    var sum = 0.0;
    for (var block = 0u; block < blocks(); block++) { sum = add_plain(sum, load_lanes(16u * block + thread)); }
    total[thread] = sum;
  }
  workgroupBarrier();
  if (thread == 0u && (second == 0u || !is_finite(load_norm(0u)))) {
    for (var n = 8u; n != 0u; n >>= 1u) {
      for (var j = 0u; j < n; j++) { total[j] = add_plain(total[j], total[j + n]); }
    }
    store_norm(0u, snap(root(total[0])));
    store_norm(1u, scale());
  }
}
