
// multi_head_crossentropy before its sum over heads: `count` heads of `width` entries one after the other in a row, each with a
// workgroup of 256 threads.
// f32: head_floor
fn run(group: u32, thread: u32) {
  let row = group / count();
  let base = row * cols() + first() + group % count() * width();
  let cell = row * heads() + first_head() + group % count();
  let sums = softmax_sums(base, width(), thread);
  let wanted = bits_classes(cell);
  var counts = true;
  if (has_mask != 0u) { counts = greater(load_mask(cell), 0.5); }
  let p = snap(div(exponential(base + wanted, sums.top), sums.total));
  var missing = sub(1.0, p);
  if (wanted == sums.at) { missing = div(sums.rest, sums.total); }
  let floored = add(p, head_floor());
  if (has_gradient != 0u) {
    let scale = flush_factor(mul(div(p, floored), load_scales(row / rows_per_scale())));
    let factor = flush_factor(div(scale, sums.total));
    for (var i = thread; i < width(); i += 256u) {
      if (!counts) {
        put_gradient(base + i, 0u);
      } else if (i == wanted) {
        store_gradient(base + i, snap(mul(sub(0.0, missing), scale)));
      } else {
        store_gradient(base + i, snap(mul(exponential(base + i, sums.top), factor)));
      }
    }
  }
  if (thread == 0u) {
    let log_p = select_f(less(missing, 0.5), log1p_f(sub(head_floor(), missing)), log_f(floored));
    store_losses(cell, select_f(counts, sub(0.0, log_p), 0.0));
  }
}
