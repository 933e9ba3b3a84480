
// softmax_crossentropy with a class per row and no smoothing; a row per workgroup of 256 threads. Rows of class -1 do not
// count.
fn run(row: u32, thread: u32) {
  let base = row * cols();
  let sums = softmax_sums(base, cols(), thread);
  let wanted = bits_classes(row);
  if (wanted == 0xffffffffu) {
    for (var i = thread; i < cols() && has_gradient != 0u; i += 256u) { put_gradient(base + i, 0u); }
    if (thread == 0u) { put_values(row, 0u); }
    return;
  }
  var weight = 1.0;
  if (has_weights != 0u) { weight = load_weights(wanted); }
  if (has_gradient != 0u) {
    let scale = flush_factor(mul(weight, load_scales(row / rows_per_scale())));
    let factor = flush_factor(div(scale, sums.total));
    for (var i = thread; i < cols(); i += 256u) {
      let e = exponential(base + i, sums.top);
      if (i != wanted) {
        store_gradient(base + i, snap(mul(e, factor)));
      } else if (i == sums.at) {
        store_gradient(base + i, snap(mul(sub(0.0, div(sums.rest, sums.total)), scale)));
      } else {
        store_gradient(base + i, snap(mul(sub(div(e, sums.total), 1.0), scale)));
      }
    }
  }
  if (thread == 0u) {
    let value = snap(mul(weight, sub(sums.log_total, snap(sub(load_x(base + wanted), sums.top)))));
    store_values(row, select_f(magnitude_of(weight) == 0u, 0.0, value));
  }
}
