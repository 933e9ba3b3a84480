
// f32: step, count, least
fn finish() {
  let wide = mul(step(), root(div(totals[0], count())));
  store_width(0u, select_f(greater(wide, least()), wide, least()));  // not a number: the least
}
