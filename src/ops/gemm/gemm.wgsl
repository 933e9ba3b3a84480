
// c = a b by chain64, a square of 4 side by 4 side per workgroup of side by side threads, four by four of it per thread;
// `tall` ones are twice as high, eight by four. `side` terms of both operands at a time lie in workgroup memory, while the
// next ones are on their way, into the other one of two tiles or, with one, once all threads have read it. Runs of block()
// terms are one chain each, which is added to c and snapped; into: 0 store, 1 add, 2 a running total that is not snapped,
// 3 each 64 terms of a chain alone into their own c, for add_chunks.wgsl: workgroups then share them, chunks_of_slice()
// each. b lies by its strides, or with panel_words in panels [k][16], of f32 or, by half_kind, of two numbers in a word:
// 2 f16, 3 bfloat16, as PanelKind counts; a bias is added last. There may be many such products, one behind the other in
// groups; of `causal` ones row r has the terms 0 to r alone.
const squares = 1u + tall;               // of a thread, one below the other, 4 side rows apart
const a_pitch = squares * side + 1u;     // lest quads of neighbouring terms lie in the same banks
const b_pitch = side + 1u;
var<workgroup> tile_a: array<vec4<f32>, tiles_in_memory * side * a_pitch>;  // [tile][term][row / 4]
var<workgroup> tile_b: array<vec4<f32>, tiles_in_memory * side * b_pitch>;  // [tile][term][column / 4]

// Rows of four.
struct Square {
  x: vec4<f32>,
  y: vec4<f32>,
  z: vec4<f32>,
  w: vec4<f32>,
}

fn add_four(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(add_plain(a.x, b.x), add_plain(a.y, b.y), add_plain(a.z, b.z), add_plain(a.w, b.w));
}
fn mul_four(a: vec4<f32>, b: f32) -> vec4<f32> {
  return vec4<f32>(product(a.x, b), product(a.y, b), product(a.z, b), product(a.w, b));
}
fn no_square() -> Square {
  let none = vec4<f32>(0.0, 0.0, 0.0, 0.0);
  return Square(none, none, none, none);
}
fn sum_of(s: Square, t: Square) -> Square {
  return Square(add_four(s.x, t.x), add_four(s.y, t.y), add_four(s.z, t.z), add_four(s.w, t.w));
}
// With the products of a column of a and a row of b, and of those whose row, from `row` on, has the term.
fn with_products(s: Square, a: vec4<f32>, b: vec4<f32>) -> Square {
  return Square(add_four(s.x, mul_four(b, a.x)), add_four(s.y, mul_four(b, a.y)), add_four(s.z, mul_four(b, a.z)),
                add_four(s.w, mul_four(b, a.w)));
}
fn with_some_products(s: Square, a: vec4<f32>, b: vec4<f32>, row: u32, term: u32) -> Square {
  var out = s;
  if (term <= row) { out.x = add_four(s.x, mul_four(b, a.x)); }
  if (term <= row + 1u) { out.y = add_four(s.y, mul_four(b, a.y)); }
  if (term <= row + 2u) { out.z = add_four(s.z, mul_four(b, a.z)); }
  if (term <= row + 3u) { out.w = add_four(s.w, mul_four(b, a.w)); }
  return out;
}

// Where the matrices of a product begin.
var<private> a_at: u32;
var<private> b_at: u32;
var<private> c_at: u32;

// Where four rows of a, or columns of b, begin. Those beyond the last are the last: they are computed and not stored.
fn rows_of_a(row: u32) -> vec4<u32> {
  return a_at + a_row() * min(vec4<u32>(row, row + 1u, row + 2u, row + 3u), vec4<u32>(m() - 1u));
}
fn columns_of_b(col: u32) -> vec4<u32> {
  let columns = min(vec4<u32>(col, col + 1u, col + 2u, col + 3u), vec4<u32>(n() - 1u));
  if (panel_words != 0u) { return columns / 16u * panel_words + columns % 16u; }
  return b_at + b_col() * columns;
}
// A term of each; 0 from `stop` on.
fn a_four(rows_at: vec4<u32>, term: u32, stop: u32) -> vec4<f32> {
  if (term >= stop) { return vec4<f32>(0.0, 0.0, 0.0, 0.0); }
  let at = rows_at + term * a_col();
  return vec4<f32>(load_a(at.x), load_a(at.y), load_a(at.z), load_a(at.w));
}
// 0 for a column beyond the last one.
fn b_half(col: u32, half: u32) -> f32 {
  if (col >= n()) { return 0.0; }
  if (half_kind == 2u) { return half_to_float(half); }
  return bfloat_to_float(half);
}
// Columns from a multiple of four on, in two words of a panel.
fn b_four_halves(term: u32, col: u32, stop: u32) -> vec4<f32> {
  if (col >= n() || term >= stop) { return vec4<f32>(0.0, 0.0, 0.0, 0.0); }
  let at = col / 16u * panel_words + 8u * term + col % 16u / 2u;
  let low = bits_b(at);
  let high = bits_b(at + 1u);
  return vec4<f32>(b_half(col, low & 0xffffu), b_half(col + 1u, low >> 16u), b_half(col + 2u, high & 0xffffu),
                   b_half(col + 3u, high >> 16u));
}
fn b_four(columns_at: vec4<u32>, col: u32, term: u32, stop: u32) -> vec4<f32> {
  if (half_kind != 0u) { return b_four_halves(term, col, stop); }
  if (term >= stop) { return vec4<f32>(0.0, 0.0, 0.0, 0.0); }
  let at = columns_at + term * select(b_row(), 16u, panel_words != 0u);
  return vec4<f32>(load_b(at.x), load_b(at.y), load_b(at.z), load_b(at.w));
}

fn c_of(row: u32, col: u32) -> f32 {
  var value = 0.0;
  if (row < m() && col < n()) { value = load_c(c_at + row * c_row() + col); }
  return value;
}
fn c_four(row: u32, col: u32) -> vec4<f32> {
  return vec4<f32>(c_of(row, col), c_of(row, col + 1u), c_of(row, col + 2u), c_of(row, col + 3u));
}
fn store_one(row: u32, col: u32, chunk: u32, value: f32) {
  if (row < m() && col < n()) {
    var v = value;
    if (has_bias != 0u && into != 3u) { v = snap(add(v, load_bias(col))); }
    store_c(c_at + (chunk * m() + row) * c_row() + col, v);
  }
}
// Loops, lest compilers meet sixteen copies of each store.
fn store_square(row: u32, col: u32, chunk: u32, s: Square) {
  var rows = array<vec4<f32>, 4>(s.x, s.y, s.z, s.w);
  for (var i = 0u; i < 16u; i++) { store_one(row + i / 4u, col + i % 4u, chunk, rows[i / 4u][i % 4u]); }
}
fn c_square(row: u32, col: u32) -> Square {
  return Square(c_four(row, col), c_four(row + 1u, col), c_four(row + 2u, col), c_four(row + 3u, col));
}
// A run's total into what c has.
fn store_total(row: u32, col: u32, s: Square, is_first: bool) {
  var rows = array<vec4<f32>, 4>(s.x, s.y, s.z, s.w);
  for (var i = 0u; i < 16u; i++) {
    var total = rows[i / 4u][i % 4u];
    if (into == 1u || (into == 0u && !is_first)) { total = add_plain(c_of(row + i / 4u, col + i % 4u), total); }
    if (into != 2u) { total = snap(total); }
    store_one(row + i / 4u, col + i % 4u, 0u, total);
  }
}

fn run(group: u32, thread: u32) {
  let across = (n() + 4u * side - 1u) / (4u * side);
  let height = 4u * side * squares;
  let tiles = across * ((m() + height - 1u) / height);
  let slice = group / tiles % slices();
  let matrix = group / tiles / slices();
  a_at = matrix / inner() * a_outer() + matrix % inner() / a_share() * a_step();
  b_at = matrix / inner() * b_outer() + matrix % inner() / b_share() * b_step();
  c_at = matrix / inner() * c_outer() + matrix % inner() / c_share() * c_step();
  let row = group % tiles / across * height;
  let column = group % tiles % across * 4u * side;
  let x = thread / side;
  let y = thread % side;
  let own_row = row + 4u * x;
  let low_row = own_row + 4u * side;
  let own_column = column + 4u * y;
  // Neighbours of a thread read neighbours in memory, whichever axis is contiguous.
  let a_by_terms = a_col() == 1u;
  let a_quad = select(y, x, a_by_terms);
  let a_term = select(x, y, a_by_terms);
  let b_by_terms = panel_words == 0u && b_col() != 1u;
  let b_quad = select(y, x, b_by_terms);
  let b_term = select(x, y, b_by_terms);
  let rows_at = rows_of_a(row + 4u * a_quad);
  let low_rows_at = rows_of_a(row + 4u * (side + a_quad));
  let own_column_of_b = column + 4u * b_quad;
  let columns_at = columns_of_b(own_column_of_b);

  var a_tile = 0u;  // where the tiles of these terms begin
  var b_tile = 0u;
  var chain = no_square();
  var low_chain = no_square();
  var total = no_square();
  var low_total = no_square();
  if (into == 2u) {
    total = c_square(own_row, own_column);
    if (tall != 0u) { low_total = c_square(low_row, own_column); }
  }
  let chunks_of_run = (block() + 63u) / 64u;
  var chunk = slice * chunks_of_slice();
  let last_chunk = min(chunk + chunks_of_slice(), chunks());
  var end = k();
  if (causal != 0u) { end = min(end, row + height); }
  var at = chunk / chunks_of_run * block() + 64u * (chunk % chunks_of_run);
  var run_stop = min((chunk / chunks_of_run + 1u) * block(), end);
  var stop = min(at + 64u, run_stop);
  var next_a = a_four(rows_at, at + a_term, stop);
  var next_low = vec4<f32>();
  if (tall != 0u) { next_low = a_four(low_rows_at, at + a_term, stop); }
  var next_b = b_four(columns_at, own_column_of_b, at + b_term, stop);
  if (into == 0u && end == 0u) {
    store_square(own_row, own_column, 0u, total);
    if (tall != 0u) { store_square(low_row, own_column, 0u, total); }
  }
  for (; chunk < last_chunk && at < end; chunk++) {
    let chunk_stop = stop;
    let ends_run = chunk_stop == run_stop;
    chain = no_square();
    low_chain = no_square();
    while (at < chunk_stop) {
      if (tiles_in_memory == 1u) { workgroupBarrier(); }
      tile_a[a_tile + a_term * a_pitch + a_quad] = next_a;
      if (tall != 0u) { tile_a[a_tile + a_term * a_pitch + side + a_quad] = next_low; }
      tile_b[b_tile + b_term * b_pitch + b_quad] = next_b;
      workgroupBarrier();
      let own = at;
      at = min(at + side, chunk_stop);
      if (at == run_stop) { run_stop = min(at + block(), end); }
      if (at == chunk_stop) { stop = min(at + 64u, run_stop); }
      next_a = a_four(rows_at, at + a_term, stop);
      if (tall != 0u) { next_low = a_four(low_rows_at, at + a_term, stop); }
      next_b = b_four(columns_at, own_column_of_b, at + b_term, stop);
      // Terms that no tile has are 0 on both sides, and change no sum.
      if (causal != 0u && own + side > row + 1u) {
        for (var term = 0u; term < side; term++) {
          let b = tile_b[b_tile + term * b_pitch + y];
          chain = with_some_products(chain, tile_a[a_tile + term * a_pitch + x], b, own_row, own + term);
          if (tall != 0u) {
            low_chain = with_some_products(low_chain, tile_a[a_tile + term * a_pitch + side + x], b, low_row, own + term);
          }
        }
      } else {
        for (var term = 0u; term < side; term++) {
          let b = tile_b[b_tile + term * b_pitch + y];
          chain = with_products(chain, tile_a[a_tile + term * a_pitch + x], b);
          if (tall != 0u) { low_chain = with_products(low_chain, tile_a[a_tile + term * a_pitch + side + x], b); }
        }
      }
      if (tiles_in_memory == 2u) {
        a_tile = side * a_pitch - a_tile;
        b_tile = side * b_pitch - b_tile;
      }
    }
    if (into == 3u) {
      store_square(own_row, own_column, chunk, chain);
      if (tall != 0u) { store_square(low_row, own_column, chunk, low_chain); }
    } else {
      total = sum_of(total, chain);
      low_total = sum_of(low_total, low_chain);
    }
    if (into != 3u && ends_run) {
      store_total(own_row, own_column, total, chunk < chunks_of_run);
      if (tall != 0u) { store_total(low_row, own_column, low_total, chunk < chunks_of_run); }
      total = no_square();
      low_total = no_square();
    }
  }
}
