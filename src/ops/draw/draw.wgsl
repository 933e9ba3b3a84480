
// Draws the id of each row from its last parts() shortlists, a workgroup per row: each thread weighs a candidate, the
// first one adds the weights and looks for the threshold. The sums of weights up to each candidate take their places.
var<workgroup> weight_exponent: array<i32, 256>;
var<workgroup> weight_high: array<u32, 256>;  // 0 for a weight of 0
var<workgroup> weight_low: array<u32, 256>;
var<workgroup> is_unlikely: array<u32, 256>;  // by min_p

fn value_of(key: u32) -> Wide {
  return wide_of(select((0x80000000u - key) | 0x80000000u, key - 0x80000000u, key >= 0x80000000u));
}
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
  let less = add_wide(value_of(key[i]), negated(value_of(key[0])));
  let w = exp_wide(divide_by_float(less, wide_of(bits_rows(row + 1u))));
  set_weight(i, w);
  is_unlikely[i] = select(0u, 1u, is_less(w, wide_of(bits_rows(row + 3u))));
}

fn uniform_number(row: u32) -> Wide {
  let seed = vec2<u32>(bits_rows(row + 7u), bits_rows(row + 8u));
  let stream = RandomStream(seed, sample_domain, bits_rows(row + 9u), bits_rows(row + 10u));
  // uniform_of(), in units of 2^-24.
  return rounded_wide(0u, 31, vec2<u32>(0u, 2u * (random_word(stream, 0u) >> 9u) + 1u));
}

fn draw_of(row: u32, candidates: u32) -> u32 {
  var count = candidates;
  var total = Wide();
  for (var i = 0u; i < candidates; i++) {
    total = add_wide(total, weight(i));
    set_weight(i, total);
  }
  // Sums never become smaller, so that halves are enough to find the first one that is large enough.
  let top_p = bits_rows(row + 2u);
  if (top_p < 0x3f800000u) {
    let enough = multiply_wide(wide_of(top_p), total);
    var least = 1u;
    while (least < count) {
      let middle = (least + count) / 2u;
      if (is_less(weight(middle - 1u), enough)) {
        least = middle + 1u;
      } else {
        count = middle;
      }
    }
  }
  for (var i = 1u; i < count; i++) {
    if (is_unlikely[i] != 0u) { count = i; }
  }
  let threshold = multiply_wide(uniform_number(row), weight(count - 1u));
  var drawn = 0u;
  var last = count - 1u;
  while (drawn < last) {
    let middle = (drawn + last) / 2u;
    if (is_less(threshold, weight(middle))) {
      last = middle;
    } else {
      drawn = middle + 1u;
    }
  }
  return column[drawn];
}

fn run(group: u32, thread: u32) {
  take_lists(group * parts(), parts(), thread);
  let row = row_words * group;
  let top_k = min(bits_rows(row), 256u);
  if (thread < top_k && key[thread] != 0u) { weigh(row, thread); }
  workgroupBarrier();
  if (thread == 0u) {
    var candidates = 0u;
    while (candidates < top_k && key[candidates] != 0u) { candidates += 1u; }
    var id = 0xffffffffu;
    if (key[0] != 0u && key[0] != 0xffffffffu) { id = draw_of(row, candidates); }
    put_ids(group, id);
  }
}
