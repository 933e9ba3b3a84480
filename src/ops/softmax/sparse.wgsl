
// sparsemax, or with `squares` entmax of alpha 1.5; a row per workgroup of 256 threads. Entries are met from the
// largest on, equal ones together, until the threshold passes them.
var<workgroup> counts: array<u32, 256>;
var<workgroup> last_seen: u32;  // in the order of ordered()
var<workgroup> is_done: u32;
var<workgroup> threshold: f32;

fn sum_of_counts(count: u32, thread: u32) -> u32 {
  workgroupBarrier();
  counts[thread] = count;
  workgroupBarrier();
  for (var half = 128u; half != 0u; half >>= 1u) {
    if (thread < half) { counts[thread] += counts[thread + half]; }
    workgroupBarrier();
  }
  return counts[0];
}

// The threshold where `count` entries are the largest, which have these sums.
fn threshold_of(sum: f32, sum_of_squares: f32, count: f32) -> f32 {
  if (squares == 0u) { return snap(div(snap(sub(sum, 1.0)), count)); }
  let mean = snap(div(sum, count));
  let spread = sub(sum_of_squares, mul(count, snap(mul(mean, mean))));
  let rest = snap(div(sub(1.0, spread), count));
  return sub(mean, root(select_f(greater(rest, 0.0), rest, 0.0)));
}

fn run(row: u32, thread: u32) {
  let base = row * cols();
  let is_whole = shift_row(base, thread);
  if (thread == 0u) {
    last_seen = 0xffffffffu;
    is_done = select(1u, 0u, is_whole);
    threshold = 0.0;
  }
  // Only thread 0 counts on these.
  var sum = 0.0;
  var sum_of_squares = 0.0;
  var met = 0u;
  while (workgroupUniformLoad(&is_done) == 0u) {
    let bound = workgroupUniformLoad(&last_seen);
    var largest = 0u;
    for (var i = thread; i < cols(); i += 256u) {
      let order = ordered(bits_p(base + i));
      if (order < bound) { largest = max(largest, order); }
    }
    largest = largest_of_threads(largest, thread);
    var equals = 0u;
    for (var i = thread; i < cols(); i += 256u) { equals += select(0u, 1u, ordered(bits_p(base + i)) == largest); }
    equals = sum_of_counts(equals, thread);
    if (thread == 0u) {
      let z = bitcast<f32>(unordered(largest));
      // Minus infinity is below any threshold.
      var goes_on = equals != 0u && is_finite(z);
      for (var k = 0u; k < equals && goes_on; k++) {
        sum = add(sum, z);
        sum_of_squares = add(sum_of_squares, mul(z, z));
        met++;
        let next = threshold_of(sum, sum_of_squares, to_float_u(met));
        goes_on = greater(z, next) || (squares != 0u && equal(z, next));
        if (goes_on) { threshold = next; }
      }
      is_done = select(1u, 0u, goes_on);
      last_seen = largest;
    }
  }
  if (!is_whole) { return; }
  for (var i = thread; i < cols(); i += 256u) {
    let z = load_p(base + i);
    var p = 0.0;
    if (greater(z, threshold)) { p = snap(sub(z, threshold)); }
    if (squares != 0u) { p = snap(mul(p, p)); }
    store_p(base + i, p);
  }
}
