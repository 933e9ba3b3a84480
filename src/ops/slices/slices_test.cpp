#include "ops/slices/slices.h"

#include "ops/op_test.h"

namespace loom::op_test::of_slices {
namespace {

struct Case {
  const char* name;
  Slices slices;
  SlicePlace from, to;
  bool shared = false;
};

const Case kCases[] = {
    {"one", {1, 1}, {}, {}},
    {"rows into wider ones", {7, 65}, {.offset = 3, .stride = 65}, {.offset = 5, .stride = 100}},
    {"short rows", {65, 3}, {.stride = 5}, {.offset = 1, .stride = 3}},
    {"columns into rows", {17, 15}, {.stride = 1, .step = 17}, {.stride = 15}},
    {"rows into columns", {17, 15}, {.stride = 15}, {.offset = 2, .stride = 1, .step = 19}},
    {"every second", {3, 1003}, {.stride = 2010, .step = 2}, {.stride = 1003}},
    {"one element again and again", {1, 100}, {.offset = 4, .step = 0}, {}},
    {"shared out", {701, 101}, {.stride = 101}, {.offset = 9, .stride = 120}, true},
    {"shared out by columns", {701, 101}, {.stride = 1, .step = 701}, {.stride = 101}, true},
};

template <class T>
void check_slices() {
  constexpr std::size_t kRoom = 100000;
  const std::vector<T> from = special_values<T>(kRoom, 1), before = special_values<T>(kRoom, 2);
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    std::vector<T> moved = before, added = before;
    for (std::size_t r = 0; r < c.slices.count; ++r)
      for (std::size_t i = 0; i < c.slices.width; ++i) {
        const T x = from[c.from.offset + r * c.from.stride + i * c.from.step];
        const std::size_t at = c.to.offset + r * c.to.stride + i * c.to.step;
        moved[at] = x, added[at] = snapped<T>(before[at] + x);
      }
    EXPECT_TRUE(same(everywhere(c.shared,
                                [&](const Exec& exec) {
                                  std::vector<T> a = before, b = before;
                                  move_slices(exec, c.slices, tensor(from, 1, kRoom), c.from, tensor(a, 1, kRoom),
                                              c.to);
                                  add_slices(exec, c.slices, tensor(from, 1, kRoom), c.from, tensor(b, 1, kRoom), c.to);
                                  return joined({a, b});
                                }),
                     joined({moved, added})));
  }
}
LOOM_OP_TEST(Slices, moved_and_added_element_by_element, check_slices)

}  // namespace
}  // namespace loom::op_test::of_slices
