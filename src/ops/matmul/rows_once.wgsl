
// A few rows of x: threads share each output, a step each, and one of them adds the terms in order. A workgroup of 256
// threads has half a panel, eight outputs, by 32 lanes, each of which takes steps_of_lane steps at a time: of long rows more
// is then on its way from memory.
const lanes = 32u;
var<workgroup> waiting: array<f32, 256 * steps_of_lane * terms_of_step>;

fn run(group: u32, thread: u32) {
  let t = group / (2u * all_panels);
  let half = group % (2u * all_panels);
  let panel = take_job(half / 2u);
  let r = half % 2u * 8u + thread % 8u;
  let lane = thread / 8u;
  let row = 16u * panel + r;
  var total = 0.0;
  for (var first = 0u; first < steps; first += lanes * steps_of_lane) {
    for (var s = 0u; s < steps_of_lane; s++) {
      let step = lanes * s + lane;
      // Lanes beyond the last step have nothing to do. Those of long rows take that step again, which is not counted: no
      // branch stands between loads that are on their way at a time.
      if (steps_of_lane == 1u && first + step >= steps) { continue; }
      find_terms(panel, r, min(first + step, steps - 1u), t);
      for (var k = 0u; k < terms_of_step; k++) { waiting[(step * terms_of_step + k) * 8u + thread % 8u] = terms[k]; }
    }
    workgroupBarrier();
    if (lane == 0u) {
      let count = min(steps - first, lanes * steps_of_lane) * terms_of_step;
      for (var k = 0u; k < count; k++) { total = add_plain(total, waiting[k * 8u + thread]); }
    }
    workgroupBarrier();
  }
  if (lane == 0u && row < outputs()) { store_output(row, t, total); }
}
