
// A thread per element of y. `axes` holds extents and steps of the kept axes, then those of the reduced ones.
fn offset_of(first: u32, rank: u32, index: u32) -> u32 {
  var at = 0u;
  var rest = index;
  for (var axis = rank; axis != 0u; axis--) {
    let extent = bits_axes(first + axis - 1u);
    at += rest % extent * bits_axes(first + rank + axis - 1u);
    rest /= extent;
  }
  return at;
}

fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i < outputs()) {
    let first = offset_of(0u, kept_rank, i);
    if (how < 4u) {
      var total = Wide();
      for (var k = 0u; k < terms(); k++) {
        let bits = bits_x(first + offset_of(2u * kept_rank, reduced_rank, k));
        var term = wide_of(bits);
        if (how == 2u) { term = square_wide(bits); }
        if (how == 3u) { term.sign = 0u; }
        total = add_wide(total, term);
      }
      if (how == 1u) { total = divide_wide(total, terms()); }
      store_y(i, narrow(total));
    } else {
      var best = infinity();
      if (how == 4u) { best = neg(best); }
      for (var k = 0u; k < terms(); k++) {
        let value = load_x(first + offset_of(2u * kept_rank, reduced_rank, k));
        let wins = is_nan(value) || (how == 4u && greater(value, best)) || (how == 5u && less(value, best));
        if (wins && !is_nan(best)) { best = value; }
      }
      store_y(i, snap(best));
    }
  }
}
