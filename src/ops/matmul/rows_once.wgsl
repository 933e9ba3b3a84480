
// One row of x: sixteen threads share each output, a step each, and one of them adds the terms in order. A workgroup of
// 256 threads has the sixteen outputs of a panel.
var<workgroup> waiting: array<f32, 256 * terms_of_step>;

fn run(group: u32, thread: u32) {
  let panel = take_job(group % all_panels);
  let t = group / all_panels;
  let r = thread % 16u;
  let lane = thread / 16u;
  var total = 0.0;
  for (var first = 0u; first < steps; first += 16u) {
    if (first + lane < steps) {
      find_terms(panel, r, first + lane, t);
      for (var k = 0u; k < terms_of_step; k++) { waiting[(lane * terms_of_step + k) * 16u + r] = terms[k]; }
    }
    workgroupBarrier();
    if (lane == 0u) {
      for (var k = 0u; k < min(steps - first, 16u) * terms_of_step; k++) { total = add_plain(total, waiting[k * 16u + r]); }
    }
    workgroupBarrier();
  }
  let row = 16u * panel + r;
  if (lane == 0u && row < outputs()) { store_output(row, t, total); }
}
