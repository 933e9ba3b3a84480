
// c[n] = snap(c[n] + sum of a b) by chain64 over the rows of each run, ascending; without `has_b` the sum of a. A thread per
// column, or, where they are `apart`, one per column of each chunk of 64 rows, whose sums add_chunks.wgsl adds.
fn chunk_of(chunk: u32, col: u32) -> f32 {
  let chunks_of_run = (block() + 63u) / 64u;
  let first = chunk / chunks_of_run * block();
  let begin = first + 64u * (chunk % chunks_of_run);
  let end = min(min(begin + 64u, first + block()), rows());
  var sum = 0.0;
  for (var r = begin; r < end; r += 8u) {  // eight loads at a time: a chain waits for memory otherwise
    var terms = array<f32, 8>();
    for (var k = 0u; k < 8u; k++) {
      let at = min(r + k, end - 1u) * cols() + col;
      terms[k] = load_a(at);
      if (has_b != 0u) { terms[k] = product(terms[k], load_b(at)); }
    }
    for (var k = 0u; k < min(8u, end - r); k++) { sum = add_plain(sum, terms[k]); }
  }
  return sum;
}

fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (apart != 0u) {
    if (i < cols() * chunks()) { store_c(i, chunk_of(i / cols(), i % cols())); }
    return;
  }
  if (i >= cols()) { return; }
  var c = load_c(i);
  var total = 0.0;
  for (var chunk = 0u; chunk < chunks(); chunk++) {
    total = add_plain(total, chunk_of(chunk, i));
    if ((chunk + 1u) % ((block() + 63u) / 64u) != 0u && chunk + 1u < chunks()) { continue; }
    c = snap(add(c, total));
    total = 0.0;
  }
  store_c(i, c);
}
