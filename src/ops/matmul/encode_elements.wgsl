
// A word of a panel of elements, [col][16], of element_bytes each.
const in_word = 4u / element_bytes;

fn word_of(panel: u32, at: u32) -> u32 {
  let col = at / (4u * element_bytes);
  let row = 16u * panel + at % (4u * element_bytes) * in_word;
  var word = 0u;
  for (var k = 0u; k < in_word; k++) { word |= stored(row + k, col) << (8u * element_bytes * k); }
  return word;
}
