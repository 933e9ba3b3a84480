
// y of an effect, or with `backward` the gradient dy0 from dy, which y0 then is; a thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let g = i / n();
  if (!acts(g)) {
    put_y(i, bits_y0(i));
  } else if (kind == 1u) {
    store_y(i, snap(mul(load_y0(i), load_gates(g * columns()))));
  } else if (kind == 3u) {
    var value = 0u;
    if (backward == 0u) { value = bits_m(g * columns() + 1u + i % n() % (columns() - 1u)); }
    put_y(i, value);
  } else if (backward != 0u) {
    put_y(i, bits_y0(i));
  } else {
    store_y(i, snap(add(load_y0(i), mul(load_m(g * columns()), noise_of(i)))));
  }
}
