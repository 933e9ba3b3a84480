
// A channel of a sample, whose thread takes one step after the other; states of one n lie side by side.
fn length_of(sample: u32) -> u32 {
  if (has_lengths == 0u) { return steps(); }
  return bits_lengths(sample);
}

// A state decays by w in one step, z being its logarithm, and takes in u b.
fn decay_log(dt: f32, a: f32) -> f32 { return snap(mul(dt, a)); }
fn decay(z: f32) -> f32 { return snap(exp_f(z)); }
fn next_state(w: f32, was: f32, u: f32, b: f32) -> f32 { return snap(add(mul(w, was), mul(u, b))); }
