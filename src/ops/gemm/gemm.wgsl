
// c = a b by chain64, a square of 4 side by 4 side per workgroup of side by side threads, four by four of it per thread.
// Sixteen terms of both operands at a time lie in workgroup memory. Runs of block() terms are one chain each, which is added
// to c and snapped; into: 0 store, 1 add, 2 a running total that is not snapped, 3 each 64 terms of a chain alone into
// their own c, for add_chunks.wgsl: workgroups then share them, chunks_of_slice() each. b lies by its strides, or with
// panel_words in panels [k][16]; a bias is added last. There may be many such products, one behind the other in groups; of
// `causal` ones row r has the terms 0 to r alone.
const quads = 16u * side;
var<workgroup> tile_a: array<vec4<f32>, quads>;  // [term][row / 4]
var<workgroup> tile_b: array<vec4<f32>, quads>;  // [term][column / 4]

fn add_four(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(add_plain(a.x, b.x), add_plain(a.y, b.y), add_plain(a.z, b.z), add_plain(a.w, b.w));
}
fn mul_four(a: vec4<f32>, b: f32) -> vec4<f32> { return vec4<f32>(mul(a.x, b), mul(a.y, b), mul(a.z, b), mul(a.w, b)); }
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

fn c_of(row: u32, col: u32) -> f32 {
  if (row >= m() || col >= n()) { return 0.0; }
  return load_c(c_at + row * c_row() + col);
}
fn c_four(row: u32, col: u32) -> vec4<f32> {
  if (into == 0u || into == 3u) { return vec4<f32>(0.0, 0.0, 0.0, 0.0); }
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
fn joined(c: vec4<f32>, total: vec4<f32>, is_first: bool) -> vec4<f32> {
  if (into == 2u) { return total; }
  if (into == 0u && is_first) { return snap_four(total); }
  return vec4<f32>(snap(add(c.x, total.x)), snap(add(c.y, total.y)), snap(add(c.z, total.z)), snap(add(c.w, total.w)));
}

fn run(group: u32, thread: u32) {
  let tile = 4u * side;
  let across = (n() + tile - 1u) / tile;
  let tiles = across * ((m() + tile - 1u) / tile);
  let slice = group / tiles % slices();
  let product = group / tiles / slices();
  a_at = product / inner() * a_outer() + product % inner() / a_share() * a_step();
  b_at = product / inner() * b_outer() + product % inner() / b_share() * b_step();
  c_at = product / inner() * c_outer() + product % inner() / c_share() * c_step();
  let row = group % tiles / across * tile;
  let column = group % tiles % across * tile;
  let x = thread / side;
  let y = thread % side;
  let own_row = row + 4u * x;
  let own_column = column + 4u * y;
  let none = vec4<f32>(0.0, 0.0, 0.0, 0.0);
  var c0 = c_four(own_row, own_column);
  var c1 = c_four(own_row + 1u, own_column);
  var c2 = c_four(own_row + 2u, own_column);
  var c3 = c_four(own_row + 3u, own_column);
  var t0 = none;
  var t1 = none;
  var t2 = none;
  var t3 = none;
  if (into == 2u) {
    t0 = c0;
    t1 = c1;
    t2 = c2;
    t3 = c3;
  }
  let chunks_of_run = (block() + 63u) / 64u;
  for (var chunk = slice * chunks_of_slice(); chunk < min((slice + 1u) * chunks_of_slice(), chunks()); chunk++) {
    let first = chunk / chunks_of_run * block();
    let begin = first + 64u * (chunk % chunks_of_run);
    var stop = min(min(begin + 64u, first + block()), k());
    if (causal != 0u) { stop = min(stop, row + tile); }
    var k0 = none;
    var k1 = none;
    var k2 = none;
    var k3 = none;
    for (var at = begin; at < stop; at += 16u) {
      workgroupBarrier();
      for (var i = thread; i < quads; i += side * side) {
        // Neighbours of a thread read neighbours in memory, whichever axis is contiguous.
        var quad = i % side;
        var term = i / side;
        if (a_col() == 1u) {
          quad = i / 16u;
          term = i % 16u;
        }
        let r = row + 4u * quad;
        tile_a[term * side + quad] = vec4<f32>(a_of(r, at + term, stop), a_of(r + 1u, at + term, stop),
                                               a_of(r + 2u, at + term, stop), a_of(r + 3u, at + term, stop));
        quad = i % side;
        term = i / side;
        if (panel_words == 0u && b_col() != 1u) {
          quad = i / 16u;
          term = i % 16u;
        }
        let col = column + 4u * quad;
        tile_b[term * side + quad] = vec4<f32>(b_of(at + term, col, stop), b_of(at + term, col + 1u, stop),
                                               b_of(at + term, col + 2u, stop), b_of(at + term, col + 3u, stop));
      }
      workgroupBarrier();
      // Terms from `stop` on are 0 on both sides, and change no sum.
      if (causal != 0u && at + 16u > row + 1u) {
        for (var term = 0u; term < 16u; term++) {
          let a = tile_a[term * side + x];
          let b = tile_b[term * side + y];
          if (at + term <= own_row) { k0 = add_four(k0, mul_four(b, a.x)); }
          if (at + term <= own_row + 1u) { k1 = add_four(k1, mul_four(b, a.y)); }
          if (at + term <= own_row + 2u) { k2 = add_four(k2, mul_four(b, a.z)); }
          if (at + term <= own_row + 3u) { k3 = add_four(k3, mul_four(b, a.w)); }
        }
        continue;
      }
      for (var term = 0u; term < 16u; term++) {
        let a = tile_a[term * side + x];
        let b = tile_b[term * side + y];
        k0 = add_four(k0, mul_four(b, a.x));
        k1 = add_four(k1, mul_four(b, a.y));
        k2 = add_four(k2, mul_four(b, a.z));
        k3 = add_four(k3, mul_four(b, a.w));
      }
    }
    if (into == 3u) {
      store_row(own_row, own_column, chunk, k0);
      store_row(own_row + 1u, own_column, chunk, k1);
      store_row(own_row + 2u, own_column, chunk, k2);
      store_row(own_row + 3u, own_column, chunk, k3);
      continue;
    }
    t0 = add_four(t0, k0);
    t1 = add_four(t1, k1);
    t2 = add_four(t2, k2);
    t3 = add_four(t3, k3);
    if ((chunk + 1u) % chunks_of_run != 0u) { continue; }
    let is_first = chunk < chunks_of_run;
    c0 = joined(c0, t0, is_first);
    c1 = joined(c1, t1, is_first);
    c2 = joined(c2, t2, is_first);
    c3 = joined(c3, t3, is_first);
    t0 = none;
    t1 = none;
    t2 = none;
    t3 = none;
  }
  if (into == 3u) { return; }
  store_row(own_row, own_column, 0u, c0);
  store_row(own_row + 1u, own_column, 0u, c1);
  store_row(own_row + 2u, own_column, 0u, c2);
  store_row(own_row + 3u, own_column, 0u, c3);
}
