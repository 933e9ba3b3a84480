
// A term is the chain of 64 columns; terms are added ascending (chain64).
const terms_of_step = 1u;
const steps = (cols + 63u) / 64u;
var<private> terms: array<f32, 4>;

fn find_terms(panel: u32, r: u32, step: u32, t: u32) {
  var chain = 0.0;
  for (var c = 64u * step; c < min(64u * step + 64u, cols); c++) {
    chain = add_plain(chain, product(element(16u * panel + r, c), load_x(t * cols + c)));
  }
  terms[0] = chain;
}

fn finished(row: u32, t: u32, total: f32) -> f32 {
  if (kind < 4u) { return total; }
  return mul(mul(total, unit_of()), load_row_scales(row));
}
