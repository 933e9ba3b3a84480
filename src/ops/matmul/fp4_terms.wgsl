
// Codes of fp4, which multiply inputs as these are. A term is the chain of the columns that share a scale, times that scale;
// terms are added ascending.
const terms_of_step = 1u;
const steps = (blocks + share - 1u) / share;
var<private> terms: array<f32, 4>;

fn find_terms(panel: u32, r: u32, step: u32, t: u32) {
  var chain = 0.0;
  for (var block = step * share; block < min((step + 1u) * share, blocks); block++) {
    let at = codes_at(panel, block);
    for (var q = 0u; q < 8u; q += 2u) {  // eight columns at a time: a chain waits for memory otherwise
      let codes = vec2<u32>(four_codes(at, r, q), four_codes(at, r, q + 1u));
      let first = 32u * block + 4u * q;
      var products = array<f32, 8>();
      for (var k = 0u; k < 8u; k++) {
        let code = (codes[k / 4u] >> (8u * (k % 4u))) & 15u;
        products[k] = product(fp4_to_float(code), load_x(t * cols + min(first + k, cols - 1u)));
      }
      for (var k = 0u; k < 8u && first + k < cols; k++) { chain = add_plain(chain, products[k]); }
    }
  }
  terms[0] = mul(chain, factors_of(panel, r, step * share, 0u).scale);
}

fn finished(row: u32, t: u32, total: f32) -> f32 { return total; }
