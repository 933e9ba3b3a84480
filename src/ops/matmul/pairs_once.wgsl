
// rows_once for elements of 16 bits: a workgroup of 256 threads has a panel, sixteen outputs, by 32 lanes; a thread has the two
// outputs whose elements share a word, and steps_of_lane steps of them at a time.
const lanes = 32u;
var<workgroup> waiting: array<f32, 512 * steps_of_lane>;  // [step][output]

fn two_elements(word: u32) -> vec2<f32> { return vec2<f32>(half_element(word & 0xffffu), half_element(word >> 16u)); }
// The chains of a step.
fn two_chains(panel: u32, pair: u32, step: u32, t: u32) -> vec2<f32> {
  var chains = vec2<f32>(0.0, 0.0);
  let base = panel * panel_bytes / 4u + pair;
  let end = min(64u * step + 64u, cols);
  for (var c = 64u * step; c < end; c += 8u) {  // eight loads at a time: a chain waits for memory otherwise
    var words = array<u32, 8>();
    var inputs = array<f32, 8>();
    for (var k = 0u; k < 8u; k++) {
      let e = min(c + k, end - 1u);
      words[k] = bits_weight(base + 8u * e);
      inputs[k] = load_x(t * cols + e);
    }
    for (var k = 0u; k < min(8u, end - c); k++) {
      let w = two_elements(words[k]);
      chains = vec2<f32>(add_plain(chains.x, product(w.x, inputs[k])), add_plain(chains.y, product(w.y, inputs[k])));
    }
  }
  return chains;
}

fn run(group: u32, thread: u32) {
  let t = group / all_panels;
  let panel = take_job(group % all_panels);
  let pair = thread % 8u;
  let lane = thread / 8u;
  var total = 0.0;
  for (var first = 0u; first < steps; first += lanes * steps_of_lane) {
    for (var s = 0u; s < steps_of_lane; s++) {
      let step = lanes * s + lane;
      // As in rows_once.wgsl.
      if (steps_of_lane == 1u && first + step >= steps) { continue; }
      let chains = two_chains(panel, pair, min(first + step, steps - 1u), t);
      waiting[16u * step + 2u * pair] = chains.x;
      waiting[16u * step + 2u * pair + 1u] = chains.y;
    }
    workgroupBarrier();
    if (thread < 16u) {
      let count = min(steps - first, lanes * steps_of_lane);
      for (var k = 0u; k < count; k++) { total = add_plain(total, waiting[16u * k + thread]); }
    }
    workgroupBarrier();
  }
  let row = 16u * panel + thread;
  if (thread < 16u && row < outputs()) { store_output(row, t, total); }
}
