#include "ops/attention/sequence_attention.h"

#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

// Keys beyond a block of lanes16, windows, masks, a softcap, heads that share keys.
TEST(Gpu, sequence_attention_and_its_gradients_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  struct Case {
    std::size_t samples, steps, keys, heads, kv_heads, dim, window;
    bool causal, masked;
    double softcap;
  };
  for (const Case& c : {Case{2, 130, 130, 4, 2, 72, 0, true, false, 0}, Case{3, 70, 70, 2, 1, 16, 50, true, true, 20},
                        Case{1, 600, 600, 1, 1, 16, 0, true, false, 0}, Case{1, 3, 1300, 2, 2, 24, 0, false, true, 0},
                        Case{1, 260, 1, 1, 1, 8, 0, false, false, 5}}) {
    SCOPED_TRACE(fmt::format("{} steps, {} keys", c.steps, c.keys));
    const AttentionConfig config{.heads = c.heads,
                                 .kv_heads = c.kv_heads,
                                 .head_dim = c.dim,
                                 .window = c.window,
                                 .softcap = c.softcap,
                                 .causal = c.causal};
    const std::size_t q = c.heads * c.dim, k = c.kv_heads * c.dim, rows = c.samples * c.steps,
                      key_rows = c.samples * c.keys;
    const Values inputs[] = {{rows, q, values<float>(rows * q, 1, 3)},
                             {key_rows, k, values<float>(key_rows * k, 2, 3)},
                             {key_rows, k, values<float>(key_rows * k, 3)},
                             {rows, q, values<float>(rows * q, 4)},
                             {c.samples, c.keys, values<float>(key_rows, 5)}};
    const std::size_t all = 2 * rows * q + 2 * key_rows * k;
    expect_equal(*device, inputs, 1, all, [&](const Exec& exec, Inputs in, Tensor y) {
      const void* const mask = c.masked ? in[4].data : nullptr;
      const Tensor out{y.data, rows, q, Element::f32}, dq{out.row(rows), rows, q, Element::f32},
          dk{dq.row(rows), key_rows, k, Element::f32}, dv{dk.row(key_rows), key_rows, k, Element::f32};
      sequence_attention(exec, config, c.samples, {in[0], in[1], in[2], mask}, out);
      sequence_attention_backward(exec, config, c.samples, {in[0], in[1], in[2], mask}, in[3], {dq, dk, dv});
    });
  }
}

}  // namespace
}  // namespace loom
