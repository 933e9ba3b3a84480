#include "ops/permute/permute.h"

#include "ops/op_test.h"

namespace loom::op_test::of_permute {
namespace {

struct Case {
  std::vector<std::size_t> extents, axes;
};

template <class T>
void check_permute() {
  const Case cases[] = {{{1}, {0}},
                        {{65}, {0}},
                        {{3, 17}, {1, 0}},
                        {{3, 17}, {0, 1}},
                        {{2, 3, 5}, {2, 0, 1}},
                        {{2, 1, 15, 4}, {3, 1, 2, 0}},
                        {{10, 70, 101}, {1, 2, 0}},
                        {{10, 70, 101}, {1, 0, 2}}};
  for (const Case& c : cases) {
    const std::size_t rank = c.extents.size();
    std::vector<std::size_t> turned(rank);
    for (std::size_t a = 0; a < rank; ++a) turned[a] = c.extents[c.axes[a]];
    const Shape from = Shape::create(c.extents).value(), to = Shape::create(turned).value();
    const std::size_t n = from.elements();
    const std::vector<T> x = special_values<T>(n, 1);
    std::vector<T> wanted(n);
    for (std::size_t i = 0; i < n; ++i) {  // the element at `index` of y
      std::vector<std::size_t> index(rank), of_x(rank);
      for (std::size_t a = rank, rest = i; a-- > 0; rest /= to[a]) index[a] = rest % to[a];
      for (std::size_t a = 0; a < rank; ++a) of_x[c.axes[a]] = index[a];
      std::size_t at = 0;
      for (std::size_t a = 0; a < rank; ++a) at = at * from[a] + of_x[a];
      wanted[i] = x[at];
    }
    EXPECT_TRUE(same(everywhere(n > 65536,
                                [&](const Exec& exec) {
                                  std::vector<T> y(n);
                                  permute(exec, {x.data(), from, element_of<T>}, c.axes, {y.data(), to, element_of<T>});
                                  return y;
                                }),
                     wanted));
  }
}
LOOM_OP_TEST(Permute, axes_change_places_and_values_stay, check_permute)

}  // namespace
}  // namespace loom::op_test::of_permute
