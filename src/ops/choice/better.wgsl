
// The better of the candidates that the threads of a workgroup of 256 hold: that of the greater key, the lower place
// among equals. Keys are 0 for none, 0xffffffff where an element is not finite, else bits in the order of the values.
var<workgroup> best_key: array<u32, 256>;
var<workgroup> best_place: array<u32, 256>;

fn is_better(key: u32, place: u32, than_key: u32, than_place: u32) -> bool {
  return key > than_key || (key == than_key && place < than_place);
}

// Leaves it in the first element of both arrays.
fn best_of_threads(key: u32, place: u32, thread: u32) {
  best_key[thread] = key;
  best_place[thread] = place;
  workgroupBarrier();
  for (var half = 128u; half != 0u; half >>= 1u) {
    if (thread < half) {
      let other = thread + half;
      if (is_better(best_key[other], best_place[other], best_key[thread], best_place[thread])) {
        best_key[thread] = best_key[other];
        best_place[thread] = best_place[other];
      }
    }
    workgroupBarrier();
  }
}
