
// 1024 candidates of a workgroup of 256 threads: keys and columns. Keys are 0 for none, 0xffffffff where a logit is not
// finite, else bits in the order of the values, both zeros the same.
const most = 1024u;
var<workgroup> key: array<u32, 1024>;
var<workgroup> column: array<u32, 1024>;

// Sorts them, the greatest key first, the lowest column among equals.
fn sort_candidates(thread: u32) {
  for (var size = 2u; size <= most; size <<= 1u) {
    for (var step = size >> 1u; step != 0u; step >>= 1u) {
      for (var pair = thread; pair < most / 2u; pair += 256u) {
        let first = 2u * pair - (pair & (step - 1u));
        let second = first + step;
        let is_wrong = key[first] < key[second] || (key[first] == key[second] && column[first] > column[second]);
        if (is_wrong == ((first & size) == 0u)) {
          let other_key = key[first];
          let other_column = column[first];
          key[first] = key[second];
          column[first] = column[second];
          key[second] = other_key;
          column[second] = other_column;
        }
      }
      workgroupBarrier();
    }
  }
}
