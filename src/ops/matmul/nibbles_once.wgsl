
// rows_once for codes of four bits that have a scale for each block: a workgroup of 256 threads has a panel, sixteen outputs, by 64
// lanes; a thread has four outputs and steps_of_lane blocks at a time, one or two, for which it loads its inputs once.
const lanes = 64u;
const steps_of_round = steps_of_lane * lanes;
var<workgroup> waiting: array<vec4<f32>, 4u * steps_of_round * terms_of_step>;  // [step][term][outputs / 4]

struct Block { high: array<vec4<u32>, 2>, low: array<vec4<u32>, 2>, scale: f32, sum: i32 }  // of inputs
struct FourTerms { main: vec4<f32>, minimum: vec4<f32> }

fn four_inputs(at: u32) -> vec4<u32> {
  return vec4<u32>(bits_inputs(at), bits_inputs(at + 1u), bits_inputs(at + 2u), bits_inputs(at + 3u));
}
fn block_of(t: u32, block: u32) -> Block {
  let at = (t * blocks + block) * 20u;
  var x = Block();
  x.high = array<vec4<u32>, 2>(four_inputs(at), four_inputs(at + 4u));
  if (digits != 0u) { x.low = array<vec4<u32>, 2>(four_inputs(at + 8u), four_inputs(at + 12u)); }
  x.scale = bitcast<f32>(bits_inputs(at + 16u));
  x.sum = bitcast<i32>(bits_inputs(at + 17u));
  return x;
}
fn four_dots(w: vec4<u32>, x: vec4<u32>) -> i32 {
  return dot_bytes(w.x, x.x) + dot_bytes(w.y, x.y) + dot_bytes(w.z, x.z) + dot_bytes(w.w, x.w);
}
fn dot_by_block(word: u32, x: Block) -> i32 {
  let w = vec4<u32>(bits_weight(word), bits_weight(word + 16u), bits_weight(word + 32u), bits_weight(word + 48u));
  let left = w & vec4<u32>(0x0f0f0f0fu);
  let right = (w >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu);
  let high = four_dots(left, x.high[0]) + four_dots(right, x.high[1]);
  if (digits == 0u) { return high; }
  return 255 * high + four_dots(left, x.low[0]) + four_dots(right, x.low[1]);
}
fn terms_of_row(panel: u32, r: u32, block: u32, word: u32, x: Block) -> vec2<f32> {
  put_terms(factors_of(panel, r, block, 0u), dot_by_block(word, x), x.sum, x.scale, 0u);
  var both = vec2<f32>();
  both.x = terms[0];
  both.y = terms[parts_of_sub - 1u];
  return both;
}
fn four_terms(panel: u32, r: u32, block: u32, t: u32) -> FourTerms {
  let x = block_of(t, block);
  let word = codes_at(panel, block) / 4u + r;
  let a = terms_of_row(panel, r, block, word, x);
  let b = terms_of_row(panel, r + 1u, block, word + 1u, x);
  let c = terms_of_row(panel, r + 2u, block, word + 2u, x);
  let d = terms_of_row(panel, r + 3u, block, word + 3u, x);
  return FourTerms(vec4<f32>(a.x, b.x, c.x, d.x), vec4<f32>(a.y, b.y, c.y, d.y));
}
fn keep_terms(step: u32, quad: u32, all: FourTerms) {
  waiting[4u * step * terms_of_step + quad] = all.main;
  if (has_min != 0u) { waiting[4u * (step * terms_of_step + 1u) + quad] = all.minimum; }
}
fn waiting_term(k: u32, thread: u32) -> f32 { return waiting[4u * k + thread / 4u][thread % 4u]; }

fn run(group: u32, thread: u32) {
  let t = group / all_panels;
  let panel = take_job(group % all_panels);
  let quad = thread % 4u;
  let lane = thread / 4u;
  var total = 0.0;
  for (var first = 0u; first < steps; first += steps_of_round) {
    // Beyond the last step it is taken again, and not counted.
    let near = four_terms(panel, 4u * quad, min(first + lane, steps - 1u), t);
    if (steps_of_lane == 2u) {
      keep_terms(lanes + lane, quad, four_terms(panel, 4u * quad, min(first + lanes + lane, steps - 1u), t));
    }
    keep_terms(lane, quad, near);
    workgroupBarrier();
    if (thread < 16u) {
      let count = min(steps - first, steps_of_round) * terms_of_step;
      var k = 0u;
      for (; k + 8u <= count; k += 8u) {  // eight loads at a time
        let a = vec4<f32>(waiting_term(k, thread), waiting_term(k + 1u, thread), waiting_term(k + 2u, thread), waiting_term(k + 3u, thread));
        let b = vec4<f32>(waiting_term(k + 4u, thread), waiting_term(k + 5u, thread), waiting_term(k + 6u, thread), waiting_term(k + 7u, thread));
        total = add_plain(add_plain(add_plain(add_plain(total, a.x), a.y), a.z), a.w);
        total = add_plain(add_plain(add_plain(add_plain(total, b.x), b.y), b.z), b.w);
      }
      for (; k < count; k++) { total = add_plain(total, waiting_term(k, thread)); }
    }
    workgroupBarrier();
  }
  let row = 16u * panel + thread;
  if (thread < 16u && row < outputs()) { store_output(row, t, total); }
}
