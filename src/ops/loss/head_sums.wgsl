
// The losses of a row's heads, added by chain64; a row per thread.
fn run(group: u32, thread: u32) {
  let row = group * 64u + thread;
  if (row >= rows()) { return; }
  var total = 0.0;
  for (var first = 0u; first < heads(); first += 64u) {
    var block = 0.0;
    for (var h = first; h < min(first + 64u, heads()); h++) { block = add_plain(block, load_losses(row * heads() + h)); }
    total = add_plain(total, block);
  }
  store_values(row, snap(total));
}
