#include "ops/gpu_test.h"
#include "ops/softmax/combine.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::Parts;
using op_test::values;
using op_test::Values;

TEST(Gpu, products_of_softmaxes_and_their_gradients_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t rows = 5;
  for (const std::vector<std::size_t>& levels :
       {std::vector<std::size_t>{7}, {3, 2, 20}, {4, 1, 1030}, {1, 1}, {2100, 3}}) {
    std::size_t nodes = 0, leaves = 1;
    for (const std::size_t children : levels) leaves *= children, nodes += leaves;
    SCOPED_TRACE(fmt::format("a tree of {} nodes", nodes));
    const Values in[] = {{rows, nodes, values<float>(rows * nodes, 1)},
                         {rows, leaves, values<float>(rows * leaves, 2)}};
    expect_equal(*device, in, rows, 2 * nodes + leaves, [&](const Exec& exec, Inputs t, Tensor y) {
      Parts parts(y);
      const Tensor p = parts.take(rows, nodes);
      combine_tree(exec, levels, t[0], p, parts.take(rows, leaves));
      combine_tree_backward(exec, levels, t[0], p, t[1], parts.take(rows, nodes));
    });
  }
  for (const std::vector<std::size_t>& cutoffs : {std::vector<std::size_t>{5}, {3, 4, 40}, {100, 1300, 1301, 3600}}) {
    const std::size_t words = cutoffs.back(), cols = words + cutoffs.size() - 1;
    SCOPED_TRACE(fmt::format("{} words in tails", words));
    const Values in[] = {{rows, cols, values<float>(rows * cols, 3)}, {rows, words, values<float>(rows * words, 4)}};
    expect_equal(*device, in, rows, cols + words, [&](const Exec& exec, Inputs t, Tensor y) {
      Parts parts(y);
      combine_adaptive(exec, cutoffs, t[0], parts.take(rows, words));
      combine_adaptive_backward(exec, cutoffs, t[0], t[1], parts.take(rows, cols));
    });
  }
  for (const auto& [count, n] : {std::pair<std::size_t, std::size_t>{1, 9}, {70, 33}, {3, 2100}}) {
    SCOPED_TRACE(fmt::format("{} of {}", count, n));
    const std::size_t cols = count * (n + 1);
    const Values in[] = {{rows, cols, values<float>(rows * cols, 5)}, {rows, n, values<float>(rows * n, 6)}};
    expect_equal(*device, in, rows, cols + n, [&, count = count, n = n](const Exec& exec, Inputs t, Tensor y) {
      Parts parts(y);
      combine_mixture(exec, count, t[0], parts.take(rows, n));
      combine_mixture_backward(exec, count, t[0], t[1], parts.take(rows, cols));
    });
  }
}

}  // namespace
}  // namespace loom
