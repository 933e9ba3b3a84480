
// A few rows of x: threads share each output, a step each, and one of them adds the terms in order. A workgroup of 256
// threads has half a panel, eight outputs, by 32 steps at a time.
const lanes = 32u;
var<workgroup> waiting: array<f32, 256 * terms_of_step>;

fn run(group: u32, thread: u32) {
  let t = group / (2u * all_panels);
  let half = group % (2u * all_panels);
  let panel = take_job(half / 2u);
  let r = half % 2u * 8u + thread % 8u;
  let lane = thread / 8u;
  let row = 16u * panel + r;
  var total = 0.0;
  for (var first = 0u; first < steps; first += lanes) {
    if (first + lane < steps) {
      find_terms(panel, r, first + lane, t);
      for (var k = 0u; k < terms_of_step; k++) { waiting[(lane * terms_of_step + k) * 8u + thread % 8u] = terms[k]; }
    }
    workgroupBarrier();
    if (lane == 0u) {
      let count = min(steps - first, lanes) * terms_of_step;
      for (var k = 0u; k < count; k++) { total = add_plain(total, waiting[k * 8u + thread]); }
    }
    workgroupBarrier();
  }
  if (lane == 0u && row < outputs()) { store_output(row, t, total); }
}
