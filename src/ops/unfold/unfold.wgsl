
// patches[r, (c, k)] of stored planes, from position `first` on; a thread per element. Taps of a transposed convolution
// descend.
fn tap_of(k: u32, count: u32) -> u32 { return select(k, count - 1u - k, transposed != 0u); }

fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let o = first() + i / cols();
  let k = i % cols();
  let taps = kernel_z() * kernel_y() * kernel_x();
  let column = tap_of(k % kernel_x(), kernel_x()) * tap_x();
  let source = o / (out_y() * out_x()) * start_z() + o / out_x() % out_y() * start_y() + o % out_x() +
             k / taps * plane() + tap_of(k / (kernel_y() * kernel_x()) % kernel_z(), kernel_z()) * tap_z() +
             tap_of(k / kernel_x() % kernel_y(), kernel_y()) * tap_y() + column % phases() * phase() +
             column / phases();
  put_patches(i, bits_planes(source));
}
