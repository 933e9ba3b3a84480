
// Where element i of y lies in input k; `axes` holds the extents of y, then the strides of every input. rank: 0 where
// all inputs are as y.
fn place(k: u32, i: u32) -> u32 {
  if (rank == 0u) { return i; }
  var at = 0u;
  var rest = i;
  for (var axis = rank; axis != 0u; axis--) {
    let extent = bits_axes(axis - 1u);
    at += rest % extent * bits_axes((k + 1u) * rank + axis - 1u);
    rest /= extent;
  }
  return at;
}
