
// a[n, d] = -exp(a_log[d, n]); a thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= channels() * states()) { return; }
  store_a(i, snap(sub(0.0, exp_f(load_a_log(i % channels() * states() + i / channels())))));
}
