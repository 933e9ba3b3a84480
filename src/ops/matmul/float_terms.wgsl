
// A term is the chain of 64 columns; terms are added ascending (chain64).
const terms_of_step = 1u;
const steps = (cols + 63u) / 64u;
var<private> terms: array<f32, 4>;

fn find_terms(panel: u32, r: u32, step: u32, t: u32) {
  var chain = 0.0;
  let end = min(64u * step + 64u, cols);
  for (var c = 64u * step; c < end; c += 8u) {  // eight loads at a time: a chain waits for memory otherwise
    var products = array<f32, 8>();
    for (var k = 0u; k < 8u; k++) {
      let e = min(c + k, end - 1u);
      products[k] = product(element(16u * panel + r, e), load_x(t * cols + e));
    }
    for (var k = 0u; k < min(8u, end - c); k++) { chain = add_plain(chain, products[k]); }
  }
  terms[0] = chain;
}

fn finished(row: u32, t: u32, total: f32) -> f32 {
  if (kind < 4u) { return total; }
  return mul(mul(total, unit_of()), load_row_scales(row));
}
