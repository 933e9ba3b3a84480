
// A few rows of x by codes that have a scale for each block or half of it: a workgroup of 256 threads has a panel, sixteen
// outputs, by four rows, 32 blocks at a time. A thread has two outputs by one block, whose codes it loads once for the four
// rows. Inputs lie in workgroup memory, where the terms then take their place; a thread adds those of an output and row in
// order. Rows and blocks beyond the last are the last: they are computed and not stored.
const lanes = 32u;
const rows_of_group = 4u;
const quads_of_row = 5u * lanes;  // four words of inputs each
const input_quads = rows_of_group * quads_of_row;
const term_quads = 16u * terms_of_step * lanes;  // [step][term][output], of four rows each
var<workgroup> few: array<vec4<u32>, max(input_quads, term_quads)>;

const are_nibbles = bits == 4u && twice_fp4 == 0u;

// What a thread takes of a block for one output: its codes, those of nibbles as they lie there, and its factors.
struct Output { codes: array<vec4<u32>, 2>, factors: array<Factors, 2> }
// What a thread takes while it computes the blocks before.
struct Ahead { inputs: array<vec4<u32>, 3>, outputs: array<Output, 2> }

fn inputs_at(t0: u32, first: u32, i: u32) -> vec4<u32> {
  var x = vec4<u32>();
  if (i < input_quads) {
    let t = min(t0 + i / quads_of_row, rows() - 1u);
    let at = 4u * (t * blocks * 5u + min(5u * first + i % quads_of_row, 5u * blocks - 1u));
    x = vec4<u32>(bits_inputs(at), bits_inputs(at + 1u), bits_inputs(at + 2u), bits_inputs(at + 3u));
  }
  return x;
}
fn output_at(panel: u32, r: u32, block: u32) -> Output {
  var out = Output();
  let at = codes_at(panel, block);
  if (are_nibbles) {
    let word = at / 4u + r;
    out.codes[0] = vec4<u32>(bits_weight(word), bits_weight(word + 16u), bits_weight(word + 32u), bits_weight(word + 48u));
  } else {
    out.codes[0] = vec4<u32>(four_codes(at, r, 0u), four_codes(at, r, 1u), four_codes(at, r, 2u), four_codes(at, r, 3u));
    out.codes[1] = vec4<u32>(four_codes(at, r, 4u), four_codes(at, r, 5u), four_codes(at, r, 6u), four_codes(at, r, 7u));
  }
  out.factors[0] = factors_of(panel, r, block, 0u);
  if (subs == 2u) { out.factors[1] = factors_of(panel, r, block, 1u); }
  return out;
}
fn ahead_of(panel: u32, t0: u32, first: u32, thread: u32) -> Ahead {
  var ahead = Ahead();
  ahead.inputs[0] = inputs_at(t0, first, thread);
  ahead.inputs[1] = inputs_at(t0, first, thread + 256u);
  ahead.inputs[2] = inputs_at(t0, first, thread + 512u);
  let block = min(first + thread / 8u, blocks - 1u);
  ahead.outputs[0] = output_at(panel, thread % 8u, block);
  ahead.outputs[1] = output_at(panel, thread % 8u + 8u, block);
  return ahead;
}

fn four_dots(w: vec4<u32>, x: vec4<u32>) -> i32 {
  return dot_bytes(w.x, x.x) + dot_bytes(w.y, x.y) + dot_bytes(w.z, x.z) + dot_bytes(w.w, x.w);
}
// Of half a block, with the inputs whose quads begin at `at`.
fn half_dot(codes: vec4<u32>, at: u32) -> i32 {
  let high = four_dots(codes, few[at]);
  if (digits == 0u) { return high; }
  return 255 * high + four_dots(codes, few[at + 2u]);
}
// The terms of a block for one row, the first and the last of terms_of_step.
fn terms_of_row(left: vec4<u32>, right: vec4<u32>, o: Output, at: u32) -> vec2<f32> {
  let about = few[at + 4u];
  let scale = bitcast<f32>(about.x);
  let left_dot = half_dot(left, at);
  let right_dot = half_dot(right, at + 1u);
  if (subs == 1u) {
    put_terms(o.factors[0], left_dot + right_dot, bitcast<i32>(about.y), scale, 0u);
  } else {
    put_terms(o.factors[0], left_dot, bitcast<i32>(about.z), scale, 0u);
    put_terms(o.factors[1], right_dot, bitcast<i32>(about.w), scale, 1u);
  }
  var both = vec2<f32>();
  both.x = terms[0];
  both.y = terms[terms_of_step - 1u];
  return both;
}
struct RowTerms { first: vec4<f32>, last: vec4<f32> }
fn terms_of_rows(o: Output, lane: u32) -> RowTerms {
  var left = o.codes[0];
  var right = o.codes[1];
  if (are_nibbles) {
    right = (left >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu);
    left &= vec4<u32>(0x0f0f0f0fu);
  }
  let a = terms_of_row(left, right, o, 5u * lane);
  let b = terms_of_row(left, right, o, 5u * lane + quads_of_row);
  let c = terms_of_row(left, right, o, 5u * lane + 2u * quads_of_row);
  let d = terms_of_row(left, right, o, 5u * lane + 3u * quads_of_row);
  return RowTerms(vec4<f32>(a.x, b.x, c.x, d.x), vec4<f32>(a.y, b.y, c.y, d.y));
}
fn keep_terms(lane: u32, r: u32, all: RowTerms) {
  let at = 16u * terms_of_step * lane + r;
  few[at] = bitcast<vec4<u32>>(all.first);
  if (terms_of_step == 2u) { few[at + 16u] = bitcast<vec4<u32>>(all.last); }
}
fn kept_term(k: u32, thread: u32) -> f32 { return bitcast<f32>(few[16u * k + thread / 4u][thread % 4u]); }

fn run(group: u32, thread: u32) {
  let groups_of_panel = (rows() + rows_of_group - 1u) / rows_of_group;
  let panel = take_job(group / groups_of_panel);
  let t0 = group % groups_of_panel * rows_of_group;
  let lane = thread / 8u;
  var total = 0.0;
  var ahead = ahead_of(panel, t0, 0u, thread);
  for (var first = 0u; first < blocks; first += lanes) {
    few[thread] = ahead.inputs[0];
    few[thread + 256u] = ahead.inputs[1];
    if (thread + 512u < input_quads) { few[thread + 512u] = ahead.inputs[2]; }
    let outputs_now = ahead.outputs;
    workgroupBarrier();
    if (first + lanes < blocks) { ahead = ahead_of(panel, t0, first + lanes, thread); }
    let near = terms_of_rows(outputs_now[0], lane);
    let far = terms_of_rows(outputs_now[1], lane);
    workgroupBarrier();
    keep_terms(lane, thread % 8u, near);
    keep_terms(lane, thread % 8u + 8u, far);
    workgroupBarrier();
    if (thread < 64u) {
      let count = min(blocks - first, lanes) * terms_of_step;
      var k = 0u;
      for (; k + 8u <= count; k += 8u) {  // eight loads at a time
        let a = vec4<f32>(kept_term(k, thread), kept_term(k + 1u, thread), kept_term(k + 2u, thread), kept_term(k + 3u, thread));
        let b = vec4<f32>(kept_term(k + 4u, thread), kept_term(k + 5u, thread), kept_term(k + 6u, thread), kept_term(k + 7u, thread));
        total = add_plain(add_plain(add_plain(add_plain(total, a.x), a.y), a.z), a.w);
        total = add_plain(add_plain(add_plain(add_plain(total, b.x), b.y), b.z), b.w);
      }
      for (; k < count; k++) { total = add_plain(total, kept_term(k, thread)); }
    }
    workgroupBarrier();
  }
  let row = 16u * panel + thread / 4u;
  let t = t0 + thread % 4u;
  if (thread < 64u && row < outputs() && t < rows()) { store_output(row, t, total); }
}
