
// Many rows of x by weights of codes: 64 outputs, four panels, by tile_rows rows in a workgroup. The codes and the inputs of
// a block lie in workgroup memory. A thread has four outputs by four rows, by eight in `tall` tiles.
const threads_of_group = 4u * tile_rows / (1u + tall);
const input_words = select(8u, 16u, digits != 0u);
const x_pitch = tile_rows / 4u + 1u;  // lest quads of neighbouring words lie in the same banks
const w_pitch = 17u;
var<workgroup> tile_x: array<vec4<u32>, input_words * x_pitch>;  // [word][row / 4]
var<workgroup> tile_w: array<vec4<u32>, 8u * w_pitch>;           // [four columns][output / 4]
var<workgroup> tile_scales: array<f32, 64u * subs>;              // of sub-blocks of weights: [sub][output]
var<workgroup> tile_minima: array<f32, 64u * subs>;
var<workgroup> tile_zeros: array<i32, 64u * subs>;
var<workgroup> tile_input_scales: array<f32, tile_rows>;
var<workgroup> tile_sums: array<i32, tile_rows * subs>;  // of the inputs of a sub-block, or of a step: [sub][row]

// Four rows of x by four outputs.
struct Dots { x: vec4<i32>, y: vec4<i32>, z: vec4<i32>, w: vec4<i32> }
struct Totals { x: vec4<f32>, y: vec4<f32>, z: vec4<f32>, w: vec4<f32> }

fn no_dots() -> Dots {
  let none = vec4<i32>();
  return Dots(none, none, none, none);
}
fn dots_of(codes: vec4<u32>, x: u32) -> vec4<i32> {
  return vec4<i32>(dot_bytes(codes.x, x), dot_bytes(codes.y, x), dot_bytes(codes.z, x), dot_bytes(codes.w, x));
}
fn with_dots(d: Dots, codes: vec4<u32>, x: vec4<u32>) -> Dots {
  return Dots(d.x + dots_of(codes, x.x), d.y + dots_of(codes, x.y), d.z + dots_of(codes, x.z), d.w + dots_of(codes, x.w));
}
fn with_high_digits(d: Dots, high: Dots) -> Dots {
  return Dots(d.x + 255 * high.x, d.y + 255 * high.y, d.z + 255 * high.z, d.w + 255 * high.w);
}

// The factors of four outputs.
struct FourFactors { scale: vec4<f32>, minimum: vec4<f32>, offset: vec4<i32> }

// A row's totals with the terms of a sub-block.
fn with_terms(total: vec4<f32>, dot: vec4<i32>, row: u32, s: u32, f: FourFactors) -> vec4<f32> {
  let sx = vec4<f32>(tile_input_scales[row]);
  let sum = tile_sums[s * tile_rows + row];
  let exact = select(dot, 2 * dot, bits == 1u) - f.offset * sum;
  var out = four_sums(total, four_products(four_floats(exact), four_products(f.scale, sx)));
  if (has_min != 0u) { out = four_sums(out, four_products(f.minimum, four_products(sx, vec4<f32>(to_float_i(sum))))); }
  return out;
}
fn with_all_terms(t: Totals, d: Dots, row: u32, s: u32, f: FourFactors) -> Totals {
  return Totals(with_terms(t.x, d.x, row, s, f), with_terms(t.y, d.y, row + 1u, s, f), with_terms(t.z, d.z, row + 2u, s, f),
                with_terms(t.w, d.w, row + 3u, s, f));
}
fn factors_of_four(output: u32, s: u32) -> FourFactors {
  var f = FourFactors();
  let at = 64u * s + output;
  f.scale = vec4<f32>(tile_scales[at], tile_scales[at + 1u], tile_scales[at + 2u], tile_scales[at + 3u]);
  f.offset = vec4<i32>(bitcast<i32>(code_offset));
  if (has_min != 0u) { f.minimum = vec4<f32>(tile_minima[at], tile_minima[at + 1u], tile_minima[at + 2u], tile_minima[at + 3u]); }
  if (has_zeros != 0u) { f.offset += vec4<i32>(tile_zeros[at], tile_zeros[at + 1u], tile_zeros[at + 2u], tile_zeros[at + 3u]); }
  return f;
}

// What a thread takes of a block while the one before it is computed: at most two of each kind, and none of what other threads
// take.
struct Part {
  x: array<vec4<u32>, 2>,
  w: array<vec4<u32>, 2>,  // of nibbles a word each, with those of both halves
  f: array<Factors, 2>,
  scale: u32,              // of a row, and its sums
  sums: vec2<u32>,
}
const x_quads = input_words * tile_rows / 4u;
const are_nibbles = bits == 4u && twice_fp4 == 0u;
const w_quads = select(128u, 64u, are_nibbles);

// Panels and rows beyond the last are the last: they are computed and not stored.
fn inputs_of(t0: u32, block: u32, i: u32) -> vec4<u32> {
  var x = vec4<u32>();
  if (i < x_quads) {
    let word = i % input_words;
    let quad = i / input_words;
    for (var k = 0u; k < 4u; k++) { x[k] = input_word(min(t0 + 4u * quad + k, rows() - 1u), block, word); }
  }
  return x;
}
fn codes_of(panel: u32, last: u32, block: u32, i: u32) -> vec4<u32> {
  var w = vec4<u32>();
  if (i < w_quads) {
    let at = codes_at(min(panel + i % 16u / 4u, last), block);
    let row = 4u * (i % 4u);
    if (are_nibbles) {
      let word = at / 4u + 16u * (i / 16u) + row;
      return vec4<u32>(bits_weight(word), bits_weight(word + 1u), bits_weight(word + 2u), bits_weight(word + 3u));
    }
    for (var k = 0u; k < 4u; k++) { w[k] = four_codes(at, row + k, i / 16u); }
  }
  return w;
}
fn factors_of_output(panel: u32, last: u32, block: u32, i: u32) -> Factors {
  var f = Factors(0.0, 0.0, 0);
  if (i < 64u * subs) {
    let p = min(panel + i % 64u / 16u, last);
    if (row_scaled == 0u) { return factors_of(p, i % 16u, block, i / 64u); }
    let row = min(16u * p + i % 16u, outputs() - 1u);
    f.scale = load_row_scales(row);
    if (has_zeros != 0u) { f.zero = bitcast<i32>(bits_row_zeros(row)); }
  }
  return f;
}
fn part_of(panel: u32, last: u32, t0: u32, block: u32, thread: u32) -> Part {
  var part = Part();
  part.x[0] = inputs_of(t0, block, thread);
  if (x_quads > threads_of_group) { part.x[1] = inputs_of(t0, block, thread + threads_of_group); }
  part.w[0] = codes_of(panel, last, block, thread);
  if (w_quads > threads_of_group) { part.w[1] = codes_of(panel, last, block, thread + threads_of_group); }
  let begins = block % blocks_of_step == 0u;
  if (begins) {
    part.f[0] = factors_of_output(panel, last, block, thread);
    if (64u * subs > threads_of_group) { part.f[1] = factors_of_output(panel, last, block, thread + threads_of_group); }
  }
  if (thread < tile_rows) {
    let t = min(t0 + thread, rows() - 1u);
    if (begins) { part.scale = input_word(t, block, 16u); }
    if (subs == 1u) {
      part.sums.x = input_word(t, block, 17u);
    } else {
      part.sums = vec2<u32>(input_word(t, block, 18u), input_word(t, block, 19u));
    }
  }
  return part;
}

fn put_inputs_of(x: vec4<u32>, i: u32) {
  if (i < x_quads) { tile_x[i % input_words * x_pitch + i / input_words] = x; }
}
fn put_codes_of(w: vec4<u32>, i: u32) {
  if (i >= w_quads) { return; }
  let at = i / 16u * w_pitch + i % 16u;
  if (are_nibbles) {
    tile_w[at] = w & vec4<u32>(0x0f0f0f0fu);
    tile_w[at + 4u * w_pitch] = (w >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu);
  } else {
    tile_w[at] = w;
  }
}
fn put_factors_of(f: Factors, i: u32) {
  if (i >= 64u * subs) { return; }
  tile_scales[i] = f.scale;
  if (has_min != 0u) { tile_minima[i] = f.minimum; }
  if (has_zeros != 0u) { tile_zeros[i] = f.zero; }
}
fn put_part(part: Part, block: u32, thread: u32) {
  put_inputs_of(part.x[0], thread);
  if (x_quads > threads_of_group) { put_inputs_of(part.x[1], thread + threads_of_group); }
  put_codes_of(part.w[0], thread);
  if (w_quads > threads_of_group) { put_codes_of(part.w[1], thread + threads_of_group); }
  let begins = block % blocks_of_step == 0u;
  if (begins) {
    put_factors_of(part.f[0], thread);
    if (64u * subs > threads_of_group) { put_factors_of(part.f[1], thread + threads_of_group); }
  }
  if (thread < tile_rows) {
    if (begins) { tile_input_scales[thread] = bitcast<f32>(part.scale); }
    let sums = bitcast<vec2<i32>>(part.sums);
    if (subs == 1u) {
      tile_sums[thread] = select(tile_sums[thread], 0, begins) + sums.x;
    } else {
      tile_sums[thread] = sums.x;
      tile_sums[tile_rows + thread] = sums.y;
    }
  }
}

// Loops, lest compilers meet sixteen copies of each store.
fn store_totals(row: u32, t: u32, totals: Totals) {
  var all = array<vec4<f32>, 4>(totals.x, totals.y, totals.z, totals.w);
  for (var i = 0u; i < 16u; i++) {
    if (t + i / 4u < rows() && row + i % 4u < outputs()) { store_output(row + i % 4u, t + i / 4u, all[i / 4u][i % 4u]); }
  }
}

// Of a thread: the quad of rows that is half a tile below the first is there in `tall` tiles.
struct AllDots { a: Dots, b: Dots }
struct AllTotals { a: Totals, b: Totals }

const rows_apart = tile_rows / 8u;  // in quads

fn no_dots_at_all() -> AllDots { return AllDots(no_dots(), no_dots()); }
fn with_all_high_digits(d: AllDots, high: AllDots) -> AllDots {
  return AllDots(with_high_digits(d.a, high.a), with_high_digits(d.b, high.b));
}
fn with_word(d: AllDots, q: u32, word: u32, x: u32, y: u32) -> AllDots {
  var out = d;
  let w = tile_w[q * w_pitch + x];
  out.a = with_dots(d.a, w, tile_x[word * x_pitch + y]);
  if (tall != 0u) { out.b = with_dots(d.b, w, tile_x[word * x_pitch + y + rows_apart]); }
  return out;
}
// The words of a sub-block, whose digits tile_x has from `digit` on. Written out, since loops stay loops with some
// compilers.
fn with_words(d: AllDots, s: u32, digit: u32, x: u32, y: u32) -> AllDots {
  let q = 4u * s;
  var out = with_word(d, q, digit + q, x, y);
  out = with_word(out, q + 1u, digit + q + 1u, x, y);
  out = with_word(out, q + 2u, digit + q + 2u, x, y);
  out = with_word(out, q + 3u, digit + q + 3u, x, y);
  if (subs == 1u) {
    out = with_word(out, 4u, digit + 4u, x, y);
    out = with_word(out, 5u, digit + 5u, x, y);
    out = with_word(out, 6u, digit + 6u, x, y);
    out = with_word(out, 7u, digit + 7u, x, y);
  }
  return out;
}

fn run(group: u32, thread: u32) {
  let panel = 4u * take_job(group % all_panels);  // which are counted in fours
  let last = (outputs() + 15u) / 16u - 1u;
  let t0 = group / all_panels * tile_rows;
  let x = thread % 16u;
  let y = thread / 16u;
  let none = vec4<f32>(0.0, 0.0, 0.0, 0.0);
  let no_totals = Totals(none, none, none, none);
  var totals = AllTotals(no_totals, no_totals);
  var part = part_of(panel, last, t0, 0u, thread);
  for (var step = 0u; step < steps; step++) {
    let first = step * blocks_of_step;
    let end = min(first + blocks_of_step, blocks);
    var dots = no_dots_at_all();
    for (var block = first; block < end; block++) {
      workgroupBarrier();
      put_part(part, block, thread);
      workgroupBarrier();
      part = part_of(panel, last, t0, min(block + 1u, blocks - 1u), thread);
      for (var s = 0u; s < subs; s++) {
        if (digits != 0u) {
          let high = with_words(no_dots_at_all(), s, 0u, x, y);
          if (blocks_of_step == 1u) {
            dots = with_all_high_digits(no_dots_at_all(), high);
          } else {
            dots = with_all_high_digits(dots, high);
          }
        }
        dots = with_words(dots, s, input_words - 8u, x, y);
        if (block + 1u == end) {
          let f = factors_of_four(4u * x, s);
          totals.a = with_all_terms(totals.a, dots.a, 4u * y, s, f);
          if (tall != 0u) { totals.b = with_all_terms(totals.b, dots.b, 4u * (y + rows_apart), s, f); }
          dots = no_dots_at_all();
        }
      }
    }
  }
  let row = 16u * panel + 4u * x;
  store_totals(row, t0 + 4u * y, totals.a);
  if (tall != 0u) { store_totals(row, t0 + 4u * (y + rows_apart), totals.b); }
}
