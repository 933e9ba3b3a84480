
// c = a b by chain64, a square of 4 side by 4 side per workgroup of side by side threads, four by four of it per thread.
// Sixteen terms of both operands at a time lie in workgroup memory. Runs of block() terms are one chain each, which is added
// to c and snapped; into: 0 store, 1 add, 2 a running total that is not snapped. b lies by its strides, or with panel_words
// in panels [k][16]; a bias is added last.
const quads = 16u * side;
var<workgroup> tile_a: array<vec4<f32>, quads>;  // [term][row / 4]
var<workgroup> tile_b: array<vec4<f32>, quads>;  // [term][column / 4]

fn add_four(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(add_plain(a.x, b.x), add_plain(a.y, b.y), add_plain(a.z, b.z), add_plain(a.w, b.w));
}
fn mul_four(a: vec4<f32>, b: f32) -> vec4<f32> { return vec4<f32>(mul(a.x, b), mul(a.y, b), mul(a.z, b), mul(a.w, b)); }
fn snap_four(a: vec4<f32>) -> vec4<f32> { return vec4<f32>(snap(a.x), snap(a.y), snap(a.z), snap(a.w)); }

fn a_of(row: u32, term: u32, stop: u32) -> f32 {
  if (row >= m() || term >= stop) { return 0.0; }
  return load_a(row * a_row() + term * a_col());
}
fn b_of(term: u32, col: u32, stop: u32) -> f32 {
  if (col >= n() || term >= stop) { return 0.0; }
  if (panel_words != 0u) { return load_b(col / 16u * panel_words + 16u * term + col % 16u); }
  return load_b(term * b_row() + col * b_col());
}

fn c_of(row: u32, col: u32) -> f32 {
  if (row >= m() || col >= n()) { return 0.0; }
  return load_c(row * n() + col);
}
fn c_row(row: u32, col: u32) -> vec4<f32> {
  if (into == 0u) { return vec4<f32>(0.0, 0.0, 0.0, 0.0); }
  return vec4<f32>(c_of(row, col), c_of(row, col + 1u), c_of(row, col + 2u), c_of(row, col + 3u));
}
fn store_one(row: u32, col: u32, value: f32) {
  if (row >= m() || col >= n()) { return; }
  var v = value;
  if (has_bias != 0u) { v = snap(add(v, load_bias(col))); }
  store_c(row * n() + col, v);
}
fn store_row(row: u32, col: u32, v: vec4<f32>) {
  store_one(row, col, v.x);
  store_one(row, col + 1u, v.y);
  store_one(row, col + 2u, v.z);
  store_one(row, col + 3u, v.w);
}
// A run's total into what c has.
fn joined(c: vec4<f32>, total: vec4<f32>, first: u32) -> vec4<f32> {
  if (into == 2u) { return total; }
  if (into == 0u && first == 0u) { return snap_four(total); }
  return vec4<f32>(snap(add(c.x, total.x)), snap(add(c.y, total.y)), snap(add(c.z, total.z)), snap(add(c.w, total.w)));
}

fn run(group: u32, thread: u32) {
  let tile = 4u * side;
  let across = (n() + tile - 1u) / tile;
  let row = group / across * tile;
  let column = group % across * tile;
  let x = thread / side;
  let y = thread % side;
  let own_row = row + 4u * x;
  let own_column = column + 4u * y;
  let none = vec4<f32>(0.0, 0.0, 0.0, 0.0);
  var c0 = c_row(own_row, own_column);
  var c1 = c_row(own_row + 1u, own_column);
  var c2 = c_row(own_row + 2u, own_column);
  var c3 = c_row(own_row + 3u, own_column);
  for (var first = 0u; first < k(); first += block()) {
    let end = min(first + block(), k());
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
    for (var begin = first; begin < end; begin += 64u) {
      let stop = min(begin + 64u, end);
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
        for (var term = 0u; term < min(16u, stop - at); term++) {
          let a = tile_a[term * side + x];
          let b = tile_b[term * side + y];
          k0 = add_four(k0, mul_four(b, a.x));
          k1 = add_four(k1, mul_four(b, a.y));
          k2 = add_four(k2, mul_four(b, a.z));
          k3 = add_four(k3, mul_four(b, a.w));
        }
      }
      t0 = add_four(t0, k0);
      t1 = add_four(t1, k1);
      t2 = add_four(t2, k2);
      t3 = add_four(t3, k3);
    }
    c0 = joined(c0, t0, first);
    c1 = joined(c1, t1, first);
    c2 = joined(c2, t2, first);
    c3 = joined(c3, t3, first);
  }
  store_row(own_row, own_column, c0);
  store_row(own_row + 1u, own_column, c1);
  store_row(own_row + 2u, own_column, c2);
  store_row(own_row + 3u, own_column, c3);
}
