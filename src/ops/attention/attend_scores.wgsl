
// Few queries that see many positions: workgroups share a query, 256 positions each.
fn run(group: u32, thread: u32) {
  let parts = (width() + 255u) / 256u;
  let query = query_of(group / parts);
  let i = 256u * (group % parts) + thread;
  if (i < query.seen_end) { store_scores(query.scores + i, seen_score(query, i)); }
}
