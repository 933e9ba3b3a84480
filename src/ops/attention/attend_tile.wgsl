
// Many queries: 64 rows of one head in a workgroup of 256 threads, each of which has four of them by four columns, positions
// or elements of the head. What sixteen steps of the sums need lies in workgroup memory.
var<workgroup> tile_left: array<vec4<f32>, 272>;   // [step][row / 4]; 17 to a step, lest quads lie in the same banks
var<workgroup> tile_right: array<vec4<f32>, 272>;  // [step][column / 4]

// Four rows by four columns.
struct Sums { x: vec4<f32>, y: vec4<f32>, z: vec4<f32>, w: vec4<f32> }

fn no_sums() -> Sums { return Sums(vec4<f32>(), vec4<f32>(), vec4<f32>(), vec4<f32>()); }
fn four_sums(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(add_plain(a.x, b.x), add_plain(a.y, b.y), add_plain(a.z, b.z), add_plain(a.w, b.w));
}
fn with_products(sum: vec4<f32>, a: f32, b: vec4<f32>) -> vec4<f32> {
  return four_sums(sum, vec4<f32>(product(a, b.x), product(a, b.y), product(a, b.z), product(a, b.w)));
}
fn with_sums(a: Sums, b: Sums) -> Sums {
  return Sums(four_sums(a.x, b.x), four_sums(a.y, b.y), four_sums(a.z, b.z), four_sums(a.w, b.w));
}
fn with_step(chains: Sums, step: u32, x: u32, y: u32) -> Sums {
  let left = tile_left[17u * step + y];
  let right = tile_right[17u * step + x];
  return Sums(with_products(chains.x, left.x, right), with_products(chains.y, left.y, right),
              with_products(chains.z, left.z, right), with_products(chains.w, left.w, right));
}
// Four steps are written out, since loops stay loops with some compilers.
fn with_steps(chains: Sums, x: u32, y: u32) -> Sums {
  var sums = chains;
  for (var step = 0u; step < 16u; step += 4u) {
    sums = with_step(sums, step, x, y);
    sums = with_step(sums, step + 1u, x, y);
    sums = with_step(sums, step + 2u, x, y);
    sums = with_step(sums, step + 3u, x, y);
  }
  return sums;
}

fn sees(row: u32, i: u32) -> bool { return i >= seen_begin_of(row) && i < seen_end_of(row); }

// Where a row of q and out begins, and one of scores. Rows beyond the last are the last: they are computed and not stored.
fn query_at(row: u32, head: u32) -> u32 { return (min(row, rows() - 1u) * heads + head) * dim; }
fn scores_at(row: u32, head: u32) -> u32 { return (min(row, rows() - 1u) * heads + head) * width(); }
