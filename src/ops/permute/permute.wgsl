
// y[i] = x[where the indices of i lie]; `axes` holds the extents of y, then the steps of its axes in x, modulo 2^32. A
// thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  var source = start();
  var rest = i;
  for (var axis = rank; axis != 0u; axis--) {
    let extent = bits_axes(axis - 1u);
    source += rest % extent * bits_axes(rank + axis - 1u);
    rest /= extent;
  }
  put_y(i, bits_x(source));
}
