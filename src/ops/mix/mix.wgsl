
// y[g] = the sum by chain64 of p[g, k] b_k[g] over branches whose p is not 0, four at a time; a thread per element.
// What more than one dispatch adds lies in `sums` between them: totals, then the open blocks.
fn element_of_branch(k: u32, i: u32) -> f32 {
  switch (k) {
    case 0u: { return load_b0(i); }
    case 1u: { return load_b1(i); }
    case 2u: { return load_b2(i); }
    default: { return load_b3(i); }
  }
}

fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  var total = 0.0;
  var block = 0.0;
  if (first() != 0u) {
    total = load_sums(i);
    block = load_sums(elements() + i);
  }
  for (var k = first(); k < min(first() + 4u, branches()); k++) {
    if (k % 64u == 0u) {
      total = add_plain(total, block);
      block = 0.0;
    }
    let weight = load_p(i / width() * branches() + k);
    if (!equal(weight, 0.0)) { block = add_plain(block, mul(weight, element_of_branch(k - first(), i))); }
  }
  if (first() + 4u >= branches()) {
    store_y(i, snap(add_plain(total, block)));
  } else {
    store_sums(i, total);
    store_sums(elements() + i, block);
  }
}
