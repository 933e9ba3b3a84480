
// A thread per element; `numbers` holds means, scales and biases of the channels.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i < elements()) {
    let c = i / inner() % channels();
    let centred = sub(load_x(i), load_numbers(c));
    store_y(i, snap(add(mul(centred, load_numbers(channels() + c)), load_numbers(2u * channels() + c))));
  }
}
