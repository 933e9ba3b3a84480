
// c = a b by chain64, a square of 4 side by 4 side per workgroup of side by side threads, four by four of it per thread.
// `side` terms of both operands at a time lie in workgroup memory, while the next ones are on their way. Runs of block()
// terms are one chain each, which is added to c and snapped; into: 0 store, 1 add, 2 a running total that is not snapped, 3
// each 64 terms of a chain alone into their own c, for add_chunks.wgsl: workgroups then share them, chunks_of_slice() each.
// b lies by its strides, or with panel_words in panels [k][16]; a bias is added last. There may be many such products, one
// behind the other in groups; of `causal` ones row r has the terms 0 to r alone.
const pitch = side + 1u;  // lest quads of neighbouring terms lie in the same banks
var<workgroup> tile_a: array<vec4<f32>, side * pitch>;  // [term][row / 4]
var<workgroup> tile_b: array<vec4<f32>, side * pitch>;  // [term][column / 4]

fn add_four(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(add_plain(a.x, b.x), add_plain(a.y, b.y), add_plain(a.z, b.z), add_plain(a.w, b.w));
}
fn mul_four(a: vec4<f32>, b: f32) -> vec4<f32> {
  return vec4<f32>(product(a.x, b), product(a.y, b), product(a.z, b), product(a.w, b));
}
fn snap_four(a: vec4<f32>) -> vec4<f32> { return vec4<f32>(snap(a.x), snap(a.y), snap(a.z), snap(a.w)); }

// Where the matrices of a product begin.
var<private> a_at: u32;
var<private> b_at: u32;
var<private> c_at: u32;

fn a_of(row: u32, term: u32, stop: u32) -> f32 {
  if (row >= m() || term >= stop) { return 0.0; }
  return load_a(a_at + row * a_row() + term * a_col());
}
fn b_of(term: u32, col: u32, stop: u32) -> f32 {
  if (col >= n() || term >= stop) { return 0.0; }
  if (panel_words != 0u) { return load_b(col / 16u * panel_words + 16u * term + col % 16u); }
  return load_b(b_at + term * b_row() + col * b_col());
}

// Four of a row of a, or of a column of b.
fn a_four(row: u32, term: u32, stop: u32) -> vec4<f32> {
  return vec4<f32>(a_of(row, term, stop), a_of(row + 1u, term, stop), a_of(row + 2u, term, stop), a_of(row + 3u, term, stop));
}
fn b_four(term: u32, col: u32, stop: u32) -> vec4<f32> {
  return vec4<f32>(b_of(term, col, stop), b_of(term, col + 1u, stop), b_of(term, col + 2u, stop), b_of(term, col + 3u, stop));
}

fn c_of(row: u32, col: u32) -> f32 {
  if (row >= m() || col >= n()) { return 0.0; }
  return load_c(c_at + row * c_row() + col);
}
fn c_four(row: u32, col: u32) -> vec4<f32> {
  return vec4<f32>(c_of(row, col), c_of(row, col + 1u), c_of(row, col + 2u), c_of(row, col + 3u));
}
fn store_one(row: u32, col: u32, chunk: u32, value: f32) {
  if (row >= m() || col >= n()) { return; }
  var v = value;
  if (has_bias != 0u && into != 3u) { v = snap(add(v, load_bias(col))); }
  store_c(c_at + (chunk * m() + row) * c_row() + col, v);
}
fn store_row(row: u32, col: u32, chunk: u32, v: vec4<f32>) {
  store_one(row, col, chunk, v.x);
  store_one(row, col + 1u, chunk, v.y);
  store_one(row, col + 2u, chunk, v.z);
  store_one(row, col + 3u, chunk, v.w);
}
// A run's total into what c has.
fn store_total(row: u32, col: u32, total: vec4<f32>, is_first: bool) {
  if (into == 2u) {
    store_row(row, col, 0u, total);
  } else if (into == 0u && is_first) {
    store_row(row, col, 0u, snap_four(total));
  } else {
    store_row(row, col, 0u, snap_four(add_four(c_four(row, col), total)));
  }
}

fn run(group: u32, thread: u32) {
  let tile = 4u * side;
  let across = (n() + tile - 1u) / tile;
  let tiles = across * ((m() + tile - 1u) / tile);
  let slice = group / tiles % slices();
  let matrix = group / tiles / slices();
  a_at = matrix / inner() * a_outer() + matrix % inner() / a_share() * a_step();
  b_at = matrix / inner() * b_outer() + matrix % inner() / b_share() * b_step();
  c_at = matrix / inner() * c_outer() + matrix % inner() / c_share() * c_step();
  let row = group % tiles / across * tile;
  let column = group % tiles % across * tile;
  let x = thread / side;
  let y = thread % side;
  let own_row = row + 4u * x;
  let own_column = column + 4u * y;
  // Neighbours of a thread read neighbours in memory, whichever axis is contiguous.
  let a_by_terms = a_col() == 1u;
  let a_quad = select(y, x, a_by_terms);
  let a_term = select(x, y, a_by_terms);
  let b_by_terms = panel_words == 0u && b_col() != 1u;
  let b_quad = select(y, x, b_by_terms);
  let b_term = select(x, y, b_by_terms);

  let none = vec4<f32>(0.0, 0.0, 0.0, 0.0);
  var k0 = none;
  var k1 = none;
  var k2 = none;
  var k3 = none;
  var t0 = none;
  var t1 = none;
  var t2 = none;
  var t3 = none;
  if (into == 2u) {
    t0 = c_four(own_row, own_column);
    t1 = c_four(own_row + 1u, own_column);
    t2 = c_four(own_row + 2u, own_column);
    t3 = c_four(own_row + 3u, own_column);
  }
  let chunks_of_run = (block() + 63u) / 64u;
  var chunk = slice * chunks_of_slice();
  let last_chunk = min(chunk + chunks_of_slice(), chunks());
  var end = k();
  if (causal != 0u) { end = min(end, row + tile); }
  var at = chunk / chunks_of_run * block() + 64u * (chunk % chunks_of_run);
  var run_stop = min((chunk / chunks_of_run + 1u) * block(), end);
  var stop = min(at + 64u, run_stop);
  var next_a = a_four(row + 4u * a_quad, at + a_term, stop);
  var next_b = b_four(at + b_term, column + 4u * b_quad, stop);
  if (into == 0u && end == 0u) {
    for (var r = 0u; r < 4u; r++) { store_row(own_row + r, own_column, 0u, none); }
  }
  while (chunk < last_chunk && at < end) {
    workgroupBarrier();
    tile_a[a_term * pitch + a_quad] = next_a;
    tile_b[b_term * pitch + b_quad] = next_b;
    workgroupBarrier();
    let own = at;
    at = min(at + side, stop);
    let ends_chunk = at == stop;
    let ends_run = at == run_stop;
    if (ends_run) { run_stop = min(at + block(), end); }
    if (ends_chunk) { stop = min(at + 64u, run_stop); }
    next_a = a_four(row + 4u * a_quad, at + a_term, stop);
    next_b = b_four(at + b_term, column + 4u * b_quad, stop);
    // Terms that no tile has are 0 on both sides, and change no sum.
    if (causal != 0u && own + side > row + 1u) {
      for (var term = 0u; term < side; term++) {
        let a = tile_a[term * pitch + x];
        let b = tile_b[term * pitch + y];
        if (own + term <= own_row) { k0 = add_four(k0, mul_four(b, a.x)); }
        if (own + term <= own_row + 1u) { k1 = add_four(k1, mul_four(b, a.y)); }
        if (own + term <= own_row + 2u) { k2 = add_four(k2, mul_four(b, a.z)); }
        if (own + term <= own_row + 3u) { k3 = add_four(k3, mul_four(b, a.w)); }
      }
    } else {
      for (var term = 0u; term < side; term++) {
        let a = tile_a[term * pitch + x];
        let b = tile_b[term * pitch + y];
        k0 = add_four(k0, mul_four(b, a.x));
        k1 = add_four(k1, mul_four(b, a.y));
        k2 = add_four(k2, mul_four(b, a.z));
        k3 = add_four(k3, mul_four(b, a.w));
      }
    }
    if (!ends_chunk) { continue; }
    if (into == 3u) {
      store_row(own_row, own_column, chunk, k0);
      store_row(own_row + 1u, own_column, chunk, k1);
      store_row(own_row + 2u, own_column, chunk, k2);
      store_row(own_row + 3u, own_column, chunk, k3);
    } else {
      t0 = add_four(t0, k0);
      t1 = add_four(t1, k1);
      t2 = add_four(t2, k2);
      t3 = add_four(t3, k3);
    }
    k0 = none;
    k1 = none;
    k2 = none;
    k3 = none;
    let is_first = chunk < chunks_of_run;
    chunk += 1u;
    if (into == 3u || !ends_run) { continue; }
    store_total(own_row, own_column, t0, is_first);
    store_total(own_row + 1u, own_column, t1, is_first);
    store_total(own_row + 2u, own_column, t2, is_first);
    store_total(own_row + 3u, own_column, t3, is_first);
    t0 = none;
    t1 = none;
    t2 = none;
    t3 = none;
  }
}
