
// dx = (du - (du . unit) unit) / norm; a row per workgroup of 256 threads.
fn run(row: u32, thread: u32) {
  let base = row * cols();
  begin_lanes(thread);
  for (var first = 0u; first < cols(); first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
      part = add_plain(part, mul(load_du(base + i), load_unit(base + i)));
    }
    add_lane_parts(thread, part);
  }
  let along = snap(fold_lanes());
  for (var i = thread; i < cols(); i += 256u) {
    let across = snap(sub(load_du(base + i), mul(along, load_unit(base + i))));
    store_dx(base + i, snap(div(across, load_norm(row))));
  }
}
