
// f32 panels from the rows of a matrix; a thread per element of a panel, those beyond the last row are 0.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let panel = i / (16u * cols());
  let row = 16u * panel + i % 16u;
  let col = i / 16u % cols();
  var bits = 0u;
  if (row < rows()) { bits = bits_values(row * cols() + col); }
  put_weight(panel * panel_words() + i % (16u * cols()), bits);
}
