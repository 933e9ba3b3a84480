
// A sum by chain64 whose blocks the 64 threads of a workgroup take side by side: thread t adds block t of every 64, the
// blocks' sums are added in ascending order. Parts beyond the last block are +0, which changes no sum.
var<workgroup> chain_parts: array<f32, 64>;

fn add_chain_parts(total: f32, thread: u32, part: f32) -> f32 {
  chain_parts[thread] = part;
  workgroupBarrier();
  var sum = total;
  for (var b = 0u; b < 64u; b++) { sum = add_plain(sum, chain_parts[b]); }
  workgroupBarrier();
  return sum;
}
