
// p = (x / T - max) * factor for a row of p. False where the row has no distribution, since it holds a NaN or its
// largest entry is infinite: then p is NaN.
// f32: temperature, shift_factor
fn shift_row(base: u32, thread: u32) -> bool {
  var largest = 0u;
  var bad = 0u;
  for (var i = thread; i < cols(); i += 256u) {
    let z = snap(div(load_x(base + i), temperature()));
    largest = larger_of(largest, z);
    if (is_nan(z)) { bad = 1u; }
    store_p(base + i, z);
  }
  largest = largest_of_threads(largest, thread);
  bad = largest_of_threads(bad, thread);
  let top = bitcast<f32>(unordered(largest));
  let is_whole = bad == 0u && is_finite(top);
  for (var i = thread; i < cols(); i += 256u) {
    if (is_whole) {
      store_p(base + i, snap(mul(snap(sub(load_p(base + i), top)), shift_factor())));
    } else {
      put_p(base + i, 0x7fc00000u);
    }
  }
  storageBarrier();
  return is_whole;
}
