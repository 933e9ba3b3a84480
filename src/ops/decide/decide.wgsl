
// A thread per element; `how` counts as Decision does.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i < elements()) {
    let at = place(0u, i);
    let word = bits_a(at);
    var result = 0u;
    if (how == 5u) {
      result = select(0u, 1u, is_nan(load_a(at)));
    } else if (how == 6u) {
      result = select(0u, 1u, word == 0u);
    } else if (how == 10u) {
      if (word != 0u) {
        result = bits_b(place(1u, i));
      } else {
        result = bits_c(place(2u, i));
      }
    } else {
      let other = place(1u, i);
      if (how == 0u) { result = select(0u, 1u, equal(load_a(at), load_b(other))); }
      if (how == 1u) { result = select(0u, 1u, greater(load_a(at), load_b(other))); }
      if (how == 2u) { result = select(0u, 1u, less(load_a(at), load_b(other))); }
      if (how == 3u) { result = select(0u, 1u, greater_equal(load_a(at), load_b(other))); }
      if (how == 4u) { result = select(0u, 1u, less_equal(load_a(at), load_b(other))); }
      if (how == 7u) { result = word & bits_b(other); }
      if (how == 8u) { result = word | bits_b(other); }
      if (how == 9u) { result = word ^ bits_b(other); }
    }
    put_y(i, result);
  }
}
