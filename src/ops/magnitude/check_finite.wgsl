
// failed = 1 where an element is not finite; one workgroup of 256 threads.
fn run(group: u32, thread: u32) {
  var found = 0u;
  for (var i = thread; i < elements(); i += 256u) { found |= select(1u, 0u, is_finite(load_x(i))); }
  found = largest_of_threads(found, thread);
  if (thread == 0u && found != 0u) { store_failed(0u, 1.0); }
}
