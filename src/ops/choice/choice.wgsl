
// The best of the candidates of each row; a workgroup of 256 threads per row.
fn run(group: u32, thread: u32) {
  var key = 0u;
  var place = 0xffffffffu;
  for (var part = thread; part < parts; part += 256u) {
    let at = 2u * (group * parts + part);
    let other_key = bits_candidates(at);
    let other_place = bits_candidates(at + 1u);
    if (is_better(other_key, other_place, key, place)) {
      key = other_key;
      place = other_place;
    }
  }
  best_of_threads(key, place, thread);
  if (thread == 0u) {
    var id = best_place[0];
    if (best_key[0] == 0u) { id = 0u; }
    if (best_key[0] == 0xffffffffu) { id = 0xffffffffu; }
    put_ids(group, id);
  }
}
