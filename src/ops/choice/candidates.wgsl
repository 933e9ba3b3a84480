
// The best candidate of every 2048 columns of each row: its key, then its place. A workgroup of 256 threads each.
fn is_banned(column: u32) -> bool {
  for (var b = 0u; b < bans(); b++) {
    if (bits_banned(b) == column) { return true; }
  }
  return false;
}

fn key_of(bits: u32) -> u32 {
  let magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) { return 0xffffffffu; }
  return select(0x80000000u + magnitude, 0x80000000u - magnitude, (bits & 0x80000000u) != 0u);
}

fn run(group: u32, thread: u32) {
  let begin = 2048u * (group % parts);
  let row = group / parts * cols;
  var key = 0u;
  var place = 0xffffffffu;
  for (var i = begin + thread; i < min(begin + 2048u, cols); i += 256u) {
    let found = key_of(bits_x(row + i));
    if (found > key && (found == 0xffffffffu || !is_banned(i))) {
      key = found;
      place = i;
    }
  }
  best_of_threads(key, place, thread);
  if (thread == 0u) {
    put_candidates(2u * group, best_key[0]);
    put_candidates(2u * group + 1u, best_place[0]);
  }
}
