
// c [m, n] from the sums of chunks of 64 terms: added to chains, those of a run, and each chain to c. into: 0 store, 1 add.
// A thread per element.
fn run(group: u32, thread: u32) {
  let size = m() * n();
  let i = 64u * group + thread;
  if (i >= size) { return; }
  var c = 0.0;
  if (into == 1u) { c = load_c(i); }
  for (var first = 0u; first < chunks(); first += chunks_of_run()) {
    var total = 0.0;
    let end = min(first + chunks_of_run(), chunks());
    for (var chunk = first; chunk < end; chunk += 16u) {  // sixteen loads at a time: a chain waits for memory otherwise
      var parts = array<f32, 16>();
      for (var k = 0u; k < 16u; k++) { parts[k] = load_parts(min(chunk + k, end - 1u) * size + i); }
      for (var k = 0u; k < min(16u, end - chunk); k++) { total = add_plain(total, parts[k]); }
    }
    if (into == 0u && first == 0u) {
      c = snap(total);
    } else {
      c = snap(add(c, total));
    }
  }
  if (has_bias != 0u) { c = snap(add(c, load_bias(i % n()))); }
  store_c(i, c);
}
