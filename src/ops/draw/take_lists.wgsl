
// `lists` shortlists of kept() pairs, from number `first` on.
fn take_lists(first: u32, lists: u32, thread: u32) {
  for (var i = thread; i < most; i += 256u) {
    key[i] = 0u;
    column[i] = 0u;
    if (i < lists * kept()) {
      key[i] = bits_shortlists(2u * (first * kept() + i));
      column[i] = bits_shortlists(2u * (first * kept() + i) + 1u);
    }
  }
  workgroupBarrier();
  sort_candidates(thread);
}
