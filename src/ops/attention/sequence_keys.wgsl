
// dk = sum over steps of ds q, and dv = sum of p dout: chain64 over the steps of each head, the heads of a key head in
// ascending order. A thread per element of dk and dv.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= samples() * keys * kv_heads * dim) { return; }
  let d = i % dim;
  let kv = i / dim % kv_heads;
  let key = i / (dim * kv_heads) % keys;
  let of_chunk = i / (dim * kv_heads * keys);
  let sample = first_sample() + of_chunk;
  var dk = 0.0;
  var dv = 0.0;
  for (var n = 0u; n < heads / kv_heads; n++) {
    let head = kv * (heads / kv_heads) + n;
    let scores = (of_chunk * heads + head) * steps * keys + key;
    var total_k = 0.0;
    var total_v = 0.0;
    for (var begin = 0u; begin < steps; begin += 64u) {
      var chain_k = 0.0;
      var chain_v = 0.0;
      for (var t = begin; t < min(begin + 64u, steps); t++) {
        let row = ((sample * steps + t) * heads + head) * dim + d;
        chain_k = add_plain(chain_k, mul(load_ds(scores + t * keys), load_q(row)));
        chain_v = add_plain(chain_v, mul(load_p(scores + t * keys), load_dout(row)));
      }
      total_k = add_plain(total_k, chain_k);
      total_v = add_plain(total_v, chain_v);
    }
    if (n == 0u) {
      dk = snap(total_k);
      dv = snap(total_v);
    } else {
      dk = snap(add(dk, snap(total_k)));
      dv = snap(add(dv, snap(total_v)));
    }
  }
  let at = ((sample * keys + key) * kv_heads + kv) * dim + d;
  store_dk(at, dk);
  store_dv(at, dv);
}
