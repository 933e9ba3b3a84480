// The rotation by the table; the table's own angles are tested with the layers that use it.

#include "ops/rope/rope.h"

#include "ops/op_test.h"

namespace loom::op_test::of_rope {
namespace {

// Makes a table of 100 positions.
RopeTable table_of(std::size_t dim, bool interleaved) {
  RopeConfig config;
  config.dim = dim, config.interleaved = interleaved;
  RopeTable table = RopeTable::create(config, 100).value();
  table.fill(100);
  return table;
}

template <class T>
std::vector<T> expected(const RopeTable& table, std::size_t rows, std::size_t head_dim, std::vector<T> x, bool back,
                        const std::vector<std::uint32_t>& positions) {
  const std::size_t cols = x.size() / rows, half = table.dim() / 2;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t h = 0; h < cols; h += head_dim)
      for (std::size_t i = 0; i < half; ++i) {
        T* const head = x.data() + r * cols + h;
        T &a = head[table.interleaved() ? 2 * i : i], &b = head[table.interleaved() ? 2 * i + 1 : half + i];
        const T c = table.row(positions[r])[i],
                s = back ? -table.row(positions[r])[half + i] : table.row(positions[r])[half + i];
        const T turned_a = a * c - b * s, turned_b = b * c + a * s;
        a = snapped<T>(turned_a), b = snapped<T>(turned_b);
      }
  return x;
}

template <class T>
void check_rope() {
  struct Case {
    std::size_t rows, heads, head_dim, dim;
  };
  for (const auto& [rows, heads, head_dim, dim] : {Case{1, 1, 2, 2}, {17, 3, 34, 30}, {5, 2, 65, 64}, {65, 16, 70, 70}})
    for (const bool interleaved : {false, true}) {
      const RopeTable table = table_of(dim, interleaved);
      const std::vector<T> x = values<T>(rows * heads * head_dim, 1);
      std::vector<std::uint32_t> positions(rows), steps(rows);
      for (std::size_t r = 0; r < rows; ++r)
        positions[r] = static_cast<std::uint32_t>(r * 37 % 100), steps[r] = static_cast<std::uint32_t>(r % 7);
      EXPECT_TRUE(same(
          everywhere(rows == 65,
                     [&](const Exec& exec) {
                       std::vector<T> a = x, b = x, c = x, d(x.size());
                       const Tensor in_place = tensor(a, rows, heads * head_dim);
                       rope(exec, table, positions, head_dim, in_place, tensor(d, rows, heads * head_dim));
                       rope(exec, table, positions, head_dim, in_place, in_place);
                       rope_sequences(exec, table, 7, head_dim, tensor(b, rows, heads * head_dim));
                       rope_sequences(exec, table, 7, head_dim, tensor(c, rows, heads * head_dim), true);
                       return joined({a, b, c, d});
                     }),
          joined({expected(table, rows, head_dim, x, false, positions),
                  expected(table, rows, head_dim, x, false, steps), expected(table, rows, head_dim, x, true, steps),
                  expected(table, rows, head_dim, x, false, positions)})));
    }
}
LOOM_OP_TEST(Rope, L_72_pairs_are_turned_by_the_table, check_rope)

TEST(Rope, the_table_holds_cosines_and_sines_of_position_times_frequency) {  // L-72
  const RopeTable table = table_of(6, false);
  for (std::size_t p = 0; p < 50; ++p)
    for (std::size_t i = 0; i < 3; ++i) {
      const double angle = static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(i) / 3);
      EXPECT_NEAR(table.row(p)[i], std::cos(angle), 1e-7);
      EXPECT_NEAR(table.row(p)[3 + i], std::sin(angle), 1e-7);
    }
}

}  // namespace
}  // namespace loom::op_test::of_rope
