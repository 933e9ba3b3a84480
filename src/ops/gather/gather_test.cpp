#include "ops/gather/gather.h"

#include "ops/op_test.h"

namespace loom::op_test::of_gather {
namespace {

constexpr std::size_t kTable = 37;

std::vector<std::int32_t> ids_of(std::size_t n, bool with_gaps) {
  std::vector<std::int32_t> ids(n);
  for (std::size_t r = 0; r < n; ++r)
    ids[r] = with_gaps && r % 5 == 3 ? kNoRow : static_cast<std::int32_t>((r * 7 + r / 3) % kTable);
  return ids;
}

template <class T>
void check_rows() {
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1}, {17, 15}, {9, 1003}, {1100, 65}}) {
    const std::vector<T> table = special_values<T>(kTable * cols, 1);
    const std::vector<float> weights = values<float>(kTable * cols, 2);
    const Matrix matrix = Matrix::from_floats(DType::float32, weights, kTable, cols).value();
    const std::vector<std::int32_t> ids = ids_of(rows, true);
    std::vector<T> taken(rows * cols), gathered(rows * cols), decoded(weights.begin(), weights.end());
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const std::int32_t id = ids[i / cols];
      if (id < 0) continue;
      const std::size_t at = static_cast<std::size_t>(id) * cols + i % cols;
      taken[i] = table[at], gathered[i] = snapped<T>(static_cast<T>(weights[at]) * static_cast<T>(0.7));
    }
    EXPECT_TRUE(same(everywhere(rows * cols > 65536,
                                [&](const Exec& exec) {
                                  std::vector<T> a(rows * cols, T{9}), b = a, c(kTable * cols);
                                  take_rows(exec, tensor(table, kTable, cols), ids, tensor(a, rows, cols));
                                  gather_rows(exec, matrix, ids, 0.7, tensor(b, rows, cols), OutOfTable::Zero);
                                  decode_matrix(exec, matrix, tensor(c, kTable, cols));
                                  EXPECT_FALSE(exec.status);
                                  return joined({a, b, c});
                                }),
                     joined({taken, gathered, decoded})));
  }
}
LOOM_OP_TEST(Gather, rows_by_number_and_zeros_for_none, check_rows)

// Row after row, snapped after every step, whoever owns the row of the table.
template <class T>
void check_scatter() {
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{3, 1}, {17, 65}, {2100, 67}}) {
    const std::vector<T> dy = special_values<T>(rows * cols, 3), before = values<T>(kTable * cols, 4);
    const std::vector<std::int32_t> ids = ids_of(rows, true);
    std::vector<T> wanted = before;
    for (std::size_t i = 0; i < dy.size(); ++i) {
      if (ids[i / cols] < 0) continue;
      T& to = wanted[static_cast<std::size_t>(ids[i / cols]) * cols + i % cols];
      to = snapped<T>(to + snapped<T>(dy[i] * static_cast<T>(0.3)));
    }
    EXPECT_TRUE(same(everywhere(rows * cols > 65536,
                                [&](const Exec& exec) {
                                  std::vector<T> table = before;
                                  scatter_add_rows(exec, ids, 0.3, tensor(dy, rows, cols), kTable, table.data());
                                  return table;
                                }),
                     wanted));
  }
}
LOOM_OP_TEST(Gather, gradients_go_back_to_their_rows, check_scatter)

template <class T>
void check_ids() {
  using L = std::numeric_limits<T>;
  const std::vector<T> x = {0, 36, T(0.5), -1, 37, L::quiet_NaN(), L::infinity(), -T{0}, T(1e30), 5};
  const std::vector<std::int32_t> wanted = {0, 36, -1, -1, -1, -1, -1, 0, -1, 5};
  for (const OutOfTable out : {OutOfTable::Zero, OutOfTable::Error})
    (void)everywhere(false, [&](const Exec& exec) {
      std::vector<std::int32_t> ids(x.size());
      ids_from_values(exec, tensor(x, x.size(), 1), kTable, out, ids);
      if (!exec.rehearsal()) {
        EXPECT_EQ(ids, wanted);
        EXPECT_EQ(exec.status.has_value(), out == OutOfTable::Error);
      }
      if (exec.status) {
        EXPECT_EQ(exec.status->code, Code::IndexOutOfRange);
        EXPECT_NE(exec.status->text().find("0.5 at row 2"), std::string::npos) << exec.status->text();
      }
      return std::vector<T>{};
    });
  (void)everywhere(false, [&](const Exec& exec) {
    const Matrix matrix = Matrix::from_floats(DType::float32, values<float>(8, 1), 4, 2).value();
    const std::vector<std::int32_t> ids = {1, 4};
    std::vector<T> y(4, T{7});
    gather_rows(exec, matrix, ids, 1, tensor(y, 2, 2));
    if (!exec.rehearsal()) {
      EXPECT_EQ(exec.status->code, Code::IndexOutOfRange);
    }
    EXPECT_EQ(y, std::vector<T>(4, T{7})) << "no row is written";
    return y;
  });
}
LOOM_OP_TEST(Gather, what_is_no_row_is_told, check_ids)

}  // namespace
}  // namespace loom::op_test::of_gather
