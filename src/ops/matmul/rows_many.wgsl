
// Many rows of x: a thread for each output, sixteen outputs of a panel by sixteen rows in a workgroup.
fn run(group: u32, thread: u32) {
  let panel = take_job(group % all_panels);
  let t = group / all_panels * 16u + thread / 16u;
  let r = thread % 16u;
  let row = 16u * panel + r;
  if (t >= rows() || row >= outputs()) { return; }
  var total = 0.0;
  for (var step = 0u; step < steps; step++) {
    find_terms(panel, r, step, t);
    for (var k = 0u; k < terms_of_step; k++) { total = add_plain(total, terms[k]); }
  }
  store_output(row, t, total);
}
