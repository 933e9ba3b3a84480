#pragma once
// Compilers that err, one fault each: a device that is made with such a one must refuse every kernel in which the fault
// shows, and give the bits of the CPU all the same.

#include <string>
#include <string_view>

namespace loom::test {

// Part of a shader's text, what a faulty compiler makes of it, and kernels that must be refused, with blanks between.
struct Mutant {
  std::string_view name, from, to, refused;
};
inline constexpr Mutant kMutants[] = {
    {"fused", "fn add_plain(",
     R"(
var<private> lost: f32 = 0.0;  // by the rounding of the last product
fn upper_half(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u); }
fn lossy(a: f32, b: f32) -> f32 {
  let p = mul(a, b);
  let a1 = upper_half(a);
  let b1 = upper_half(b);
  let a2 = sub(a, a1);
  let b2 = sub(b, b1);
  lost = add(add(add(sub(mul(a1, b1), p), mul(a1, b2)), mul(a2, b1)), mul(a2, b2));
  return p;
}
fn add_plain(a: f32, b: f32) -> f32 {
  let sum = add(add(a, b), lost);
  lost = 0.0;
  return sum;
}
fn right_add_plain()",
     "attend_near attend_own attend_tile_scores column_sums convolve convolve_weight_gradient gemm "
     "kmeans_center_gradient matmul mix mixture norm_backward sequence_rows softmax_backward"},
    {"snap", "fn snap(x: f32) -> f32 {", "fn snap(x: f32) -> f32 { return x; }\nfn no_snap(x: f32) -> f32 {",
     "block_figures dropout element_loss gather_rows head_loss mix_backward rounding softmax softmax_loss"},
    {"subnormals", "let small = bitcast<u32>(f32(magnitude) * 0x1p-24f);", "let small = 0u;", "matmul"},
    {"division", "fn div(a: f32, b: f32) -> f32 {",
     "fn div(a: f32, b: f32) -> f32 { return keep(a * keep(1.0f / b)); }\nfn right_div(a: f32, b: f32) -> f32 {",
     "append_codes attend_near attend_own attend_softmax batch_norm_backward divide encode_groups encode_panels "
     "encode_rows "
     "layer_norm norm_backward rms_norm softmax softmax_loss unit_rows"},
    {"blocks", "chain_parts[b]", "chain_parts[63u - b]",
     "convolve_bias_gradient convolve_weight_gradient effect_slopes mix_gate_backward"},
    {"lanes", "lane_parts[16u * b + thread]", "lane_parts[16u * (15u - b) + thread]",
     "element_loss encode_rows head_loss layer_norm norm_backward rms_norm softmax softmax_backward softmax_loss "
     "unit_rows"},
};

// The mutant that this process runs.
inline const Mutant*& current_mutant() {
  static const Mutant* current = nullptr;
  return current;
}

// The place where a function is called, after `from`.
inline std::size_t find_call(std::string_view text, std::string_view function, std::size_t from) {
  const std::string call = std::string(function) + "(";
  std::size_t i = text.find(call, from);
  while (i != text.npos && std::string_view(" (<-!\n").find(text[i - 1]) == text.npos) i = text.find(call, i + 1);
  return i;
}

inline std::string mutate(std::string_view text) {
  const Mutant& mutant = *current_mutant();
  std::string out(text);
  const std::size_t at = out.find(mutant.from);
  if (at == out.npos) return out;
  out.replace(at, mutant.from.size(), mutant.to);
  const std::size_t body = out.find("var<uniform> words");
  if (mutant.name == "fused") {  // products of the body, whose sums then have what was lost
    if (out.find("add_plain(", body) == out.npos) return out;
    for (const std::string_view function : {"mul", "product"})
      for (std::size_t i = find_call(out, function, body); i != out.npos; i = find_call(out, function, i))
        out.replace(i, function.size(), "lossy");
  }
  return out;
}

}  // namespace loom::test
