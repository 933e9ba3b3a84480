
// dtable[ids[r]] += dy[r] * factor, row after row; a thread per column.
// f32: factor
fn run(group: u32, thread: u32) {
  let col = 64u * group + thread;
  if (col >= cols()) { return; }
  for (var r = 0u; r < rows(); r++) {
    let id = bitcast<i32>(bits_ids(r));
    if (id >= 0) {
      let at = u32(id) * cols() + col;
      store_dtable(at, snap(add(load_dtable(at), snap(mul(factor(), load_dy(r * cols() + col))))));
    }
  }
}
