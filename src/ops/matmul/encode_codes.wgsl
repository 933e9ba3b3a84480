
// A word of a panel of codes (dtypes/panel.h): codes of a row, or behind those of a group its scales and zero points.
// Fixed: bits, share (blocks of a group), factor_words.
const block_words = 16u * bits;
const group_words = share * block_words + factor_words;

fn word_of(panel: u32, at: u32) -> u32 {
  let group = at / group_words;
  let inside = at % group_words;
  let filled = min(share, blocks() - group * share) * block_words;
  if (inside >= filled) { return factor_word(panel, 32u * share * group, inside - filled); }
  let col = 32u * (group * share + inside / block_words) + inside % block_words / 16u * 4u;
  let row = 16u * panel + inside % 16u;
  var word = 0u;
  for (var k = 0u; k < 8u / bits; k++) {
    for (var b = 0u; b < 4u; b++) { word |= stored(row, col + 4u * bits * k + b) << (8u * b + bits * k); }
  }
  return word;
}

// Sixteen scales, then as many zero points of a byte each.
fn factor_word(panel: u32, col: u32, at: u32) -> u32 {
  let row = 16u * panel + at;
  if (at < 16u) { return select(0u, bits_spans(2u * span_of(min(row, rows() - 1u), col)), row < rows()); }
  var word = 0u;
  for (var b = 0u; b < 4u; b++) {
    let zero_row = 16u * panel + 4u * (at - 16u) + b;
    if (zero_row < rows()) { word |= bitcast<u32>(zero_of(span_of(zero_row, col))) << (8u * b); }
  }
  return word;
}
