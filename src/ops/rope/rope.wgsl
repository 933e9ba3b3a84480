
// Turns pairs of a head by the angle of the row's position, and leaves the rest of it as it is; a row per workgroup of 256 threads.
fn run(row: u32, thread: u32) {
  let half = dim / 2u;
  var position = 0u;
  if (steps() == 0u) {
    position = bits_positions(row);
  } else {
    position = row % steps();
  }
  for (var pair = thread; pair < heads * half; pair += 256u) {
    let i = pair % half;
    let cosine = load_table(position * dim + i);
    var sine = load_table(position * dim + half + i);
    if (back != 0u) { sine = neg(sine); }
    let first = row * cols + pair / half * head_dim + select(i, 2u * i, interleaved != 0u);
    let second = first + select(half, 1u, interleaved != 0u);
    let a = load_x(first);
    let b = load_x(second);
    store_y(first, snap(sub(mul(a, cosine), mul(b, sine))));
    store_y(second, snap(add(mul(b, cosine), mul(a, sine))));
  }
  let rest = head_dim - dim;
  for (var i = thread; i < heads * rest; i += 256u) {
    let at = row * cols + i / max(rest, 1u) * head_dim + dim + i % max(rest, 1u);
    put_y(at, bits_x(at));
  }
}
