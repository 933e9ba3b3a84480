
// Panels of a matrix from its values, and the scales and zero points of its rows: a thread per word, as Matrix::refill()
// writes them. Fixed: mask and offset of what is stored, is_binary, row_scaled, lowered (of a row's zero point).
fn stored(row: u32, col: u32) -> u32 {
  if (row >= rows() || col >= cols()) { return 0u; }
  let span = span_of(row, col);
  let code = code_of(bits_values(row * cols() + col), scale_of(span), zero_of(span));
  if (is_binary != 0u) { return select(0u, 1u, code > 0); }
  return (bitcast<u32>(code) + offset) & mask;
}

fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  let words = panels() * panel_words();
  if (i < words) {
    put_weight(i, word_of(i / panel_words(), i % panel_words()));
    return;
  }
  let row = (i - words) % (16u * panels());
  let which = (i - words) / (16u * panels());
  let is_row = row < rows();
  let span = span_of(min(row, rows() - 1u), 0u);
  if (row_scaled != 0u && which == 0u) { put_row_scales(row, select(0u, bitcast<u32>(scale_of(span)), is_row)); }
  if (row_scaled != 0u && has_zeros != 0u && which == 1u) {
    put_row_zeros(row, select(0u, bitcast<u32>(zero_of(span)) - lowered, is_row));
  }
}
