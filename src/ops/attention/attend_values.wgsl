
// Four chains of the values of a query per workgroup of 256 threads, left for add_chunks.wgsl: [chain][query][element].
fn run(group: u32, thread: u32) {
  let chains = (width() + 63u) / 64u;
  let parts = (chains + 3u) / 4u;
  let query = query_of(group / parts);
  let chain = group % parts * 4u + thread / 64u;
  take_weight(query, 64u * chain + thread % 64u, thread);
  workgroupBarrier();
  for (var d = thread % 64u; d < dim; d += 64u) {
    if (chain < chains) { store_sums((chain * queries() * dim) + query.at + d, values_of(query, 64u * chain, d, thread / 64u * 64u)); }
  }
}
