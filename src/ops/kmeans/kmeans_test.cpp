#include "ops/kmeans/kmeans.h"

#include "ops/op_test.h"

namespace loom::op_test::of_kmeans {
namespace {

template <class T>
struct Inputs {
  std::size_t rows, n, clusters, block;
  std::vector<T> x, centers, u, a, g;
  Inputs(std::size_t r, std::size_t cols, std::size_t k, std::size_t b)
      : rows(r),
        n(cols),
        clusters(k),
        block(b),
        x(values<T>(r * cols, 1)),
        centers(values<T>(k * cols, 2)),
        u(values<T>(r * k, 3)),
        a(values<T>(r * k, 4)),
        g(values<T>(r * cols, 5)) {}
};

template <class T>
std::vector<T> expected(const Inputs<T>& in, T t2, bool probabilities) {
  const auto [rows, n, clusters, block] = std::tuple{in.rows, in.n, in.clusters, in.block};
  std::vector<T> l(rows * clusters), dx(rows * n), dc(clusters * n, T(0.25));
  const auto away = [&](std::size_t r, std::size_t k, std::size_t j) {
    return snapped<T>(in.x[r * n + j] - in.centers[k * n + j]);
  };
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t k = 0; k < clusters; ++k)
      l[r * clusters + k] =
          snapped<T>(-(lanes_sum<T>(n, [&](std::size_t j) { return away(r, k, j) * away(r, k, j); }) / (2 * t2)));
    for (std::size_t j = 0; j < n; ++j)
      dx[r * n + j] = snapped<T>(-snapped<T>(chain_sum<T>(clusters, [&](std::size_t k) {
        return in.u[r * clusters + k] * away(r, k, j);
      })) / t2);
  }
  for (std::size_t k = 0; k < clusters; ++k)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t begin = 0; begin < rows; begin += block) {
        const std::size_t count = std::min(block, rows - begin);
        T& to = dc[k * n + j];
        if (probabilities)
          to = snapped<T>(to + chain_sum<T>(count, [&](std::size_t i) {
                            return in.a[(begin + i) * clusters + k] * in.g[(begin + i) * n + j];
                          }));
        to = snapped<T>(to + snapped<T>(snapped<T>(chain_sum<T>(count,
                                                                [&](std::size_t i) {
                                                                  return in.u[(begin + i) * clusters + k] *
                                                                         away(begin + i, k, j);
                                                                })) /
                                        t2));
      }
  return joined({l, dx, dc});
}

template <class T>
void check_kmeans() {
  for (const Inputs<T>& in :
       {Inputs<T>(1, 1, 1, 1), {17, 15, 3, 16}, {65, 17, 5, 40}, {3, 1003, 70, 2}, {130, 65, 33, 16}})
    for (const bool probabilities : {true, false}) {
      const T t2 = static_cast<T>(0.7);
      EXPECT_TRUE(
          same(everywhere(in.rows == 130,
                          [&](const Exec& exec) {
                            std::vector<T> l(in.rows * in.clusters), dx(in.x.size()), dc(in.centers.size(), T(0.25));
                            const ConstTensor x = tensor(in.x, in.rows, in.n), u = tensor(in.u, in.rows, in.clusters),
                                              a = tensor(in.a, in.rows, in.clusters), g = tensor(in.g, in.rows, in.n);
                            kmeans_scores(exec, x, in.centers.data(), 0.7, tensor(l, in.rows, in.clusters));
                            kmeans_input_gradient(exec, x, in.centers.data(), u, 0.7, tensor(dx, in.rows, in.n));
                            kmeans_center_gradient(exec, x, in.centers.data(), u, probabilities ? a : ConstTensor{},
                                                   probabilities ? g : ConstTensor{}, 0.7, in.block, dc.data());
                            return joined({l, dx, dc});
                          }),
               expected(in, t2, probabilities)))
          << in.rows << " rows of " << in.n;
    }
}
LOOM_OP_TEST(Kmeans, distances_and_their_gradients_by_definition, check_kmeans)

}  // namespace
}  // namespace loom::op_test::of_kmeans
