
// Turns pairs of a head by the angle of the row's position; a thread per pair.
fn run(group: u32, thread: u32) {
  let pair = group * 64u + thread;
  let half = dim / 2u;
  let pairs = heads * half;
  if (pair >= rows() * pairs) { return; }
  let row = pair / pairs;
  let head = pair % pairs / half;
  let i = pair % half;
  var position = row % steps();
  if (steps() == 0u) { position = bits_positions(row); }
  let cosine = load_table(position * dim + i);
  var sine = load_table(position * dim + half + i);
  if (back != 0u) { sine = neg(sine); }
  let first = row * cols + head * head_dim + select(i, 2u * i, interleaved != 0u);
  let second = first + select(half, 1u, interleaved != 0u);
  let a = load_x(first);
  let b = load_x(second);
  store_x(first, snap(sub(mul(a, cosine), mul(b, sine))));
  store_x(second, snap(add(mul(b, cosine), mul(a, sine))));
}
