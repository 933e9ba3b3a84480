
// Draws the id of each row from its last parts() shortlists, a workgroup per row: each thread weighs a candidate, the
// first one adds the weights and looks for the threshold. The sums of weights up to each candidate take their places.
var<workgroup> weight_exponent: array<i32, 256>;
var<workgroup> weight_high: array<u32, 256>;  // 0 for a weight of 0
var<workgroup> weight_low: array<u32, 256>;
var<workgroup> is_unlikely: array<u32, 256>;  // by min_p

fn weight(i: u32) -> Wide {
  var w = Wide();
  w.kind = select(0u, 1u, weight_high[i] != 0u);
  w.exponent = weight_exponent[i];
  w.high = weight_high[i];
  w.low = weight_low[i];
  return w;
}
fn set_weight(i: u32, w: Wide) {
  weight_exponent[i] = w.exponent;
  weight_high[i] = select(w.high, 0u, w.kind == 0u);
  weight_low[i] = w.low;
}

fn weigh(row: u32, i: u32) {
  let w = weight_beside(key[0], key[i], bits_rows(row + 1u));
  set_weight(i, w);
  is_unlikely[i] = select(0u, 1u, is_less(w, wide_of(bits_rows(row + 3u))));
}

// The units of all parts of a row that this thread adds, beside the best candidate.
fn units_of_parts(group: u32, row: u32, thread: u32) -> vec2<u32> {
  var units = vec2<u32>();
  for (var part = thread; part < all_parts(); part += 256u) {
    let at = 3u * (group * all_parts() + part);
    let best = bits_sums(at);
    if (best != 0u && best != 0xffffffffu) {
      let of_part = wide_of_units(vec2<u32>(bits_sums(at + 1u), bits_sums(at + 2u)));
      var sum = multiply_wide(weight_beside(key[0], best, bits_rows(row + 1u)), of_part);
      sum.exponent += 7;
      units = added(units, units_of(sum));
    }
  }
  return units;
}

fn uniform_number(row: u32) -> Wide {
  let seed = vec2<u32>(bits_rows(row + 7u), bits_rows(row + 8u));
  let stream = RandomStream(seed, sample_domain, bits_rows(row + 9u), bits_rows(row + 10u));
  // uniform_of(), in units of 2^-24.
  return rounded_wide(0u, 31, vec2<u32>(0u, 2u * (random_word(stream, 0u) >> 9u) + 1u));
}

// Sums never become smaller: the first one of so many that is not less than the bound, or greater than it; their number
// where none is.
fn first_not_less(count: u32, bound: Wide) -> u32 {
  var begin = 0u;
  var end = count;
  while (begin < end) {
    let middle = (begin + end) / 2u;
    if (is_less(weight(middle), bound)) {
      begin = middle + 1u;
    } else {
      end = middle;
    }
  }
  return begin;
}
fn first_greater(count: u32, bound: Wide) -> u32 {
  var begin = 0u;
  var end = count;
  while (begin < end) {
    let middle = (begin + end) / 2u;
    if (is_less(bound, weight(middle))) {
      end = middle;
    } else {
      begin = middle + 1u;
    }
  }
  return begin;
}
fn lesser(a: Wide, b: Wide) -> Wide {
  if (is_less(a, b)) { return a; }
  return b;
}

// `units` bound the sum of all weights. drawn_of() of draw.cpp gives the reasons.
fn draw_of(row: u32, count: u32, units: vec2<u32>) -> u32 {
  let next = multiply_wide(weight(count - 1u), wide_of_double(0x3ff00000u, 0x1000u));
  var total = Wide();
  for (var i = 0u; i < count; i++) {
    total = add_wide(total, weight(i));
    set_weight(i, total);
  }
  var low = total;
  var high = total;
  if (bits_rows(row) == 0u && count == 256u && is_less(total, add_wide(total, next))) {
    if (all_parts() > most_parts) { return 0xffffffffu; }
    var all = wide_of_units(units);
    all.exponent -= 38;
    low = multiply_wide(all, wide_of_double(0x3feffffeu, 0u));
    if (is_less(low, total)) { low = total; }
    high = multiply_wide(all, wide_of_double(0x3ff00001u, 0u));
  }
  let top_p = bits_rows(row + 2u);
  if (top_p < 0x3f800000u) {
    let enough = multiply_wide(wide_of(top_p), low);
    let most_enough = multiply_wide(wide_of(top_p), high);
    let first = first_not_less(count, enough);
    let last = first_not_less(count, most_enough);
    low = enough;
    if (first < count) { low = weight(first); }
    if (last < count) {
      high = weight(last);
    } else {
      high = lesser(add_wide(most_enough, next), high);
    }
  }
  var likely = 1u;
  while (likely < count && is_unlikely[likely] == 0u) { likely += 1u; }
  if (bits_rows(row + 3u) != 0u) { low = lesser(low, weight(likely - 1u)); }
  if (likely < count) { high = lesser(high, weight(likely - 1u)); }
  let u = uniform_number(row);
  let drawn = first_greater(count, multiply_wide(u, low));
  if (drawn == count || drawn != first_greater(count, multiply_wide(u, high))) { return 0xffffffffu; }
  return column[drawn];
}

fn run(group: u32, thread: u32) {
  take_lists(group * parts(), parts(), thread);
  let row = row_words * group;
  let top_k = select(min(bits_rows(row), 256u), 256u, bits_rows(row) == 0u);
  if (thread < top_k && key[thread] != 0u) { weigh(row, thread); }
  var units = vec2<u32>();
  if (bits_rows(row) == 0u) { units = units_of_parts(group, row, thread); }
  units = sum_units(units, thread);
  if (thread == 0u) {
    var candidates = 0u;
    while (candidates < top_k && key[candidates] != 0u) { candidates += 1u; }
    var id = 0xffffffffu;
    if (key[0] != 0u && key[0] != 0xffffffffu) { id = draw_of(row, candidates, units); }
    put_ids(group, id);
  }
}
