
// As many of the parts() shortlists of a row as fit become one; groups() of them are left.
fn run(group: u32, thread: u32) {
  let each = most / kept();
  let row = group / groups();
  let begin = each * (group % groups());
  take_lists(row * parts() + begin, min(each, parts() - begin), thread);
  for (var i = thread; i < kept(); i += 256u) {
    put_joined(2u * (kept() * group + i), key[i]);
    put_joined(2u * (kept() * group + i) + 1u, column[i]);
  }
}
