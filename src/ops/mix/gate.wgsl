
// Whether branch i takes part and has fewer than top_k better ones; `base` is where the row of z begins.
fn is_kept(base: u32, i: u32) -> bool {
  if (bits_enabled(i) == 0u) { return false; }
  if (top_k() == 0u || top_k() >= cols()) { return true; }
  let mine = load_z(base + i);
  var better = 0u;
  for (var j = 0u; j < cols(); j++) {
    let other = load_z(base + j);
    if (bits_enabled(j) != 0u && (greater(other, mine) || (j < i && equal(other, mine)))) { better++; }
  }
  return better < top_k();
}
