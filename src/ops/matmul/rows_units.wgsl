
// Many rows of x by weights of codes on units that multiply matrices (units.wgsl): 128 outputs, eight panels, by 64 rows
// in a workgroup of eight subgroups, of which each has 32 by 32. The dots of a block by 16 of the rows pass through
// workgroup memory; a thread adds their terms to an output of each row. Each block of 32 columns has a scale and perhaps
// a minimum for itself.
const x_pitch = 20u;  // words of a row of inputs: high digits, low digits, and lest rows lie in the same banks
const w_pitch = 12u;  // of an output's codes
var<workgroup> tile_x: array<i32, 64u * x_pitch>;
var<workgroup> tile_w: array<i32, 128u * w_pitch>;
var<workgroup> tile_dots: array<i32, 128u * dots_pitch>;  // [subgroup][row][output]
// Of `held` blocks: [block][output], [block][row / 4].
var<workgroup> tile_scales: array<f32, 128u * held>;
var<workgroup> tile_minima: array<f32, 128u * held>;
var<workgroup> tile_input_scales: array<vec4<f32>, 16u * held>;
var<workgroup> tile_sums: array<vec4<i32>, 16u * held>;

const x_words = select(8u, 16u, digits != 0u);
const are_nibbles = bits == 4u && twice_fp4 == 0u;
const is_shifted = are_nibbles && code_offset == 8u;  // codes less 8 need no sum of the inputs
const sum_factor = i32(code_offset) - select(0, 8, is_shifted);
const w_words = select(8u, 4u, are_nibbles);

// What a thread takes of a block while those before it are computed. Panels and rows beyond the last are the last: they
// are computed and not stored.
struct Part { x: vec4<u32>, w: vec4<u32> }
fn input_of(t0: u32, block: u32, i: u32) -> u32 {
  return input_word(min(t0 + i / x_words, rows() - 1u), block, i % x_words);
}
fn codes_of(panel: u32, last: u32, block: u32, i: u32) -> u32 {
  let at = codes_at(min(panel + i / (16u * w_words), last), block);
  if (are_nibbles) { return bits_weight(at / 4u + i % 64u); }
  return four_codes(at, i % 16u, i / 16u % 8u);
}
fn part_of(panel: u32, last: u32, t0: u32, block: u32, thread: u32) -> Part {
  var part = Part();
  part.x.x = input_of(t0, block, thread);
  part.x.y = input_of(t0, block, thread + 256u);
  if (digits != 0u) {
    part.x.z = input_of(t0, block, thread + 512u);
    part.x.w = input_of(t0, block, thread + 768u);
  }
  part.w.x = codes_of(panel, last, block, thread);
  part.w.y = codes_of(panel, last, block, thread + 256u);
  if (!are_nibbles) {
    part.w.z = codes_of(panel, last, block, thread + 512u);
    part.w.w = codes_of(panel, last, block, thread + 768u);
  }
  return part;
}

fn put_input(x: u32, i: u32) { tile_x[i / x_words * x_pitch + i % x_words] = i32(x); }
fn less_8(codes: u32) -> i32 { return i32(select(codes, ((codes | 0x80808080u) - 0x08080808u) ^ 0x80808080u, is_shifted)); }
fn put_codes(codes: u32, i: u32) {
  let at = (i / (16u * w_words) * 16u + i % 16u) * w_pitch + i / 16u % w_words;
  if (are_nibbles) {
    tile_w[at] = less_8(codes & 0x0f0f0f0fu);
    tile_w[at + 4u] = less_8((codes >> 4u) & 0x0f0f0f0fu);
  } else {
    tile_w[at] = i32(codes);
  }
}
fn put_part(part: Part, thread: u32) {
  put_input(part.x.x, thread);
  put_input(part.x.y, thread + 256u);
  if (digits != 0u) {
    put_input(part.x.z, thread + 512u);
    put_input(part.x.w, thread + 768u);
  }
  put_codes(part.w.x, thread);
  put_codes(part.w.y, thread + 256u);
  if (!are_nibbles) {
    put_codes(part.w.z, thread + 512u);
    put_codes(part.w.w, thread + 768u);
  }
}

// The factors of the blocks from `first` on.
fn put_factors(panel: u32, last: u32, t0: u32, first: u32, thread: u32) {
  for (var i = thread; i < 128u * held; i += 256u) {
    let f = factors_of(min(panel + i / 16u % 8u, last), i % 16u, min(first + i / 128u, blocks - 1u), 0u);
    tile_scales[i] = f.scale;
    if (has_min != 0u) { tile_minima[i] = f.minimum; }
  }
  for (var i = thread; i < 16u * held; i += 256u) {
    let block = min(first + i / 16u, blocks - 1u);
    var scales = vec4<f32>();
    var sums = vec4<i32>();
    for (var k = 0u; k < 4u; k++) {
      let t = min(t0 + 4u * (i % 16u) + k, rows() - 1u);
      scales[k] = bitcast<f32>(input_word(t, block, 16u));
      sums[k] = bitcast<i32>(input_word(t, block, 17u));
    }
    tile_input_scales[i] = scales;
    tile_sums[i] = sums;
  }
}

// The totals of four rows with the terms of a block, whose dots of an output begin at `at`.
fn with_terms(total: vec4<f32>, at: u32, quad: u32, scale: f32, minimum: f32) -> vec4<f32> {
  var dot = vec4<i32>(tile_dots[at], tile_dots[at + dots_pitch], tile_dots[at + 2u * dots_pitch], tile_dots[at + 3u * dots_pitch]);
  let sx = tile_input_scales[quad];
  if (sum_factor != 0) { dot -= sum_factor * tile_sums[quad]; }
  var out = four_sums(total, four_products(four_floats(dot), four_products(vec4<f32>(scale), sx)));
  if (has_min != 0u) {
    let sum = tile_sums[quad];
    let sums = vec4<f32>(to_float_i(sum.x), to_float_i(sum.y), to_float_i(sum.z), to_float_i(sum.w));
    out = four_sums(out, four_products(vec4<f32>(minimum), four_products(sx, sums)));
  }
  return out;
}

// Of an output by 16 rows.
struct Totals { a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32> }
fn with_all_terms(t: Totals, at: u32, quad: u32, output: u32) -> Totals {
  let w = tile_scales[output];
  var m = 0.0;
  if (has_min != 0u) { m = tile_minima[output]; }
  return Totals(with_terms(t.a, at, quad, w, m), with_terms(t.b, at + 4u * dots_pitch, quad + 1u, w, m),
                with_terms(t.c, at + 8u * dots_pitch, quad + 2u, w, m), with_terms(t.d, at + 12u * dots_pitch, quad + 3u, w, m));
}

fn store_totals(row: u32, t: u32, totals: Totals) {
  var all = array<vec4<f32>, 4>(totals.a, totals.b, totals.c, totals.d);
  for (var i = 0u; i < 16u; i++) {
    if (t + i < rows() && row < outputs()) { store_output(row, t + i, all[i / 4u][i % 4u]); }
  }
}

fn run(group: u32, thread: u32) {
  let panel = 8u * take_job(group % all_panels);  // which are counted in eights
  let last = (outputs() + 15u) / 16u - 1u;
  let t0 = group / all_panels * 64u;
  let subgroup = thread / 32u;
  let row = subgroup / 4u * 32u;
  let output = subgroup % 4u * 32u;
  let own_output = output + thread % 32u;
  let dots = subgroup * 16u * dots_pitch;
  let own_dots = dots + thread % 32u;
  let none = vec4<f32>();
  var top = Totals(none, none, none, none);
  var bottom = Totals(none, none, none, none);
  put_part(part_of(panel, last, t0, 0u, thread), thread);
  workgroupBarrier();
  var codes = codes_of_outputs(output);
  var dots_of_top = multiply(row, codes, thread);
  var dots_of_bottom = multiply(row + 16u, codes, thread);
  put_dots(dots_of_top, dots, thread);
  workgroupBarrier();
  put_part(part_of(panel, last, t0, min(1u, blocks - 1u), thread), thread);
  for (var block = 0u; block < blocks; block++) {
    if (block % held == 0u) { put_factors(panel, last, t0, block, thread); }
    let part = part_of(panel, last, t0, min(block + 2u, blocks - 1u), thread);
    let quad = block % held * 16u + row / 4u;
    let factor = block % held * 128u + own_output;
    workgroupBarrier();
    top = with_all_terms(top, own_dots, quad, factor);
    workgroupBarrier();
    put_dots(dots_of_bottom, dots, thread);
    workgroupBarrier();
    bottom = with_all_terms(bottom, own_dots, quad + 4u, factor);
    // Of the next block.
    codes = codes_of_outputs(output);
    dots_of_top = multiply(row, codes, thread);
    dots_of_bottom = multiply(row + 16u, codes, thread);
    workgroupBarrier();
    put_dots(dots_of_top, dots, thread);
    put_part(part, thread);
  }
  store_totals(16u * panel + own_output, t0 + row, top);
  store_totals(16u * panel + own_output, t0 + row + 16u, bottom);
}
