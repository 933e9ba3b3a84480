
// Slices into slices, moved or added; a thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let r = i / width();
  let k = i % width();
  let source = from_offset() + r * from_stride() + k * from_step();
  let target_at = to_offset() + r * to_stride() + k * to_step();
  if (adds != 0u) {
    store_to(target_at, snap(add(load_to(target_at), load_from(source))));
  } else {
    put_to(target_at, bits_from(source));
  }
}
