
// Input planes as a layout stores them; a thread per stored element. Each axis has four words: what the stored
// coordinate of its first element is, how far they are spread, how many there are, and the stored extent.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  var rest = i;
  var source = 0u;
  var step = 1u;
  var is_inside = true;
  for (var axis = 3u; axis != 0u; axis--) {
    let words = 4u * (axis - 1u);
    let stored = bits_axes(words + 3u);
    var q = rest % stored;
    rest /= stored;
    if (axis == 3u) { q = q % phase() * phases() + q / phase(); }
    let at = bitcast<i32>(q - bits_axes(words));
    let spread = bitcast<i32>(bits_axes(words + 1u));
    let extent = bits_axes(words + 2u);
    is_inside = is_inside && at >= 0 && bitcast<u32>(at) % bitcast<u32>(spread) == 0u && at / spread < bitcast<i32>(extent);
    source += bitcast<u32>(at / spread) * step;
    step *= extent;
  }
  var bits = 0u;
  if (is_inside) { bits = bits_x(rest * step + source); }
  put_planes(i, bits);
}
