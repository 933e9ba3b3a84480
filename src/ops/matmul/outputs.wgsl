
fn store_output(row: u32, t: u32, total: f32) {
  var value = snap(finished(row, t, total));
  if (has_bias != 0u) { value = snap(add(value, load_bias(row))); }
  store_y(t * outputs() + row, value);
}
