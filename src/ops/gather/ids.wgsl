
// Integral values as ids, -1 for those that are no row of the table; `fault` holds the first of these, counted from 1. One
// workgroup of 256 threads.
var<workgroup> first_bad: array<u32, 256>;

fn run(group: u32, thread: u32) {
  var bad = 0xffffffffu;
  for (var i = thread; i < count(); i += 256u) {
    let v = load_x(i);
    var id = -1;
    if (greater_equal(v, 0.0) && less(v, 2147483648.0)) {
      let whole = i32(v);  // exact: below 2^31, cut to a whole number
      if (u32(whole) < table_rows() && equal(to_float_i(whole), v)) { id = whole; }
    }
    if (id < 0) { bad = min(bad, i); }
    put_ids(i, bitcast<u32>(id));
  }
  first_bad[thread] = bad;
  workgroupBarrier();
  for (var half = 128u; half != 0u; half >>= 1u) {
    if (thread < half) { first_bad[thread] = min(first_bad[thread], first_bad[thread + half]); }
    workgroupBarrier();
  }
  if (thread == 0u && reports != 0u && first_bad[0] != 0xffffffffu && bits_fault(0u) == 0u) {
    put_fault(0u, first_bad[0] + 1u);
    put_fault(1u, bits_x(first_bad[0]));
  }
}
