
// Sums of values by the probabilities of 64 rows: 64 elements of a head, by chains of 64 positions.
fn seen_part(row: u32, i: u32, p: f32, values: vec4<f32>) -> vec4<f32> {
  let is_seen = sees(row, i);
  return vec4<f32>(select_f(is_seen, product(p, values.x), 0.0), select_f(is_seen, product(p, values.y), 0.0),
                   select_f(is_seen, product(p, values.z), 0.0), select_f(is_seen, product(p, values.w), 0.0));
}
// What a row does not see is no part of its sum, whatever it is.
fn with_seen_steps(chains: Sums, row: u32, first: u32, x: u32, y: u32) -> Sums {
  var sums = chains;
  for (var step = 0u; step < 16u; step++) {
    let left = tile_left[17u * step + y];
    let right = tile_right[17u * step + x];
    sums.x = four_sums(sums.x, seen_part(row, first + step, left.x, right));
    sums.y = four_sums(sums.y, seen_part(row + 1u, first + step, left.y, right));
    sums.z = four_sums(sums.z, seen_part(row + 2u, first + step, left.z, right));
    sums.w = four_sums(sums.w, seen_part(row + 3u, first + step, left.w, right));
  }
  return sums;
}

// Of position i and four rows, what is not seen: 0.
fn probabilities_of(row: u32, last: u32, head: u32, i: u32) -> vec4<f32> {
  var p = vec4<u32>();
  for (var k = 0u; k < 4u; k++) {
    let r = min(row + k, last);
    if (sees(r, i)) { p[k] = bits_scores(scores_at(r, head) + i); }
  }
  return bitcast<vec4<f32>>(p);
}
// Of position i, where it is before `end`, four elements from d on. Those beyond the last have sums that nobody stores.
fn values_of(kv: u32, i: u32, end: u32, d: u32) -> vec4<f32> {
  var four = vec4<f32>();
  if (i < end && d < dim) {
    let p = i % 64u;
    let block = block_at(first_position() + i, kv);
    four = four_numbers(block + value_word(p, d), vec4<f32>(value_scale(block, p)));
  }
  return four;
}

fn run(group: u32, thread: u32) {
  const parts = (dim + 63u) / 64u;
  let first_d = 64u * (group % parts);
  let head = group / parts % heads;
  let kv = head / (heads / kv_heads);
  let row = 64u * (group / parts / heads);
  let last = min(row + 63u, rows() - 1u);
  let end = seen_end_of(last);
  let x = thread % 16u;
  let y = thread / 16u;
  let d = first_d + 4u * x;
  let begin = seen_begin_of(row) / 64u * 64u;
  var left = probabilities_of(row + 4u * y, last, head, begin + x);
  var right = values_of(kv, begin + y, end, d);
  var chains = no_sums();
  var totals = no_sums();
  for (var first = begin; first < end; first += 16u) {
    workgroupBarrier();
    tile_left[17u * x + y] = left;
    tile_right[17u * y + x] = right;
    workgroupBarrier();
    left = probabilities_of(row + 4u * y, last, head, first + 16u + x);
    right = values_of(kv, first + 16u + y, end, d);
    if (first >= seen_begin_of(last) && first + 16u <= seen_end_of(row)) {
      chains = with_steps(chains, x, y);
    } else {
      chains = with_seen_steps(chains, row + 4u * y, first, x, y);
    }
    if (first % 64u == 48u || first + 16u >= end) {
      totals = with_sums(totals, chains);
      chains = no_sums();
    }
  }

  var all = array<vec4<f32>, 4>(totals.x, totals.y, totals.z, totals.w);
  for (var n = 0u; n < 16u; n++) {
    let r = row + 4u * y + n / 4u;
    if (r < rows() && d + n % 4u < dim) { store_out(query_at(r, head) + d + n % 4u, snap(all[n / 4u][n % 4u])); }
  }
}
