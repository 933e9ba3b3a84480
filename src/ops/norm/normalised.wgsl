
fn normalised(x: f32, mean: f32, inverse: f32, gamma: f32, beta: f32) -> f32 {
  return snap(add(mul(snap(mul(snap(sub(x, mean)), inverse)), gamma), beta));
}
