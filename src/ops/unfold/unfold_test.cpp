// Stored planes and patches by their definition; geometries of every sort go through ops/conv/conv_test.cpp.

#include "ops/unfold/unfold.h"

#include "ops/op_test.h"

namespace loom::op_test::of_unfold {
namespace {

struct Case {
  const char* name;
  ConvGeometry geometry;
  std::size_t channels;
  bool shared = false;
};

const Case kCases[] = {
    {"in place", {{1, 5, 17}, {1, 2, 3}}, 2},
    {"padding", {{1, 5, 17}, {1, 3, 3}, {1, 1, 1}, {0, 1, 2}}, 3},
    {"phases", {{2, 7, 19}, {2, 3, 3}, {1, 2, 3}, {1, 1, 4}, {1, 2, 2}}, 2},
    {"padding beyond the input", {{1, 2, 3}, {1, 3, 3}, {1, 1, 1}, {0, 5, 20}}, 1},
    {"shared out", {{1, 90, 100}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}}, 5, true},
};

// The input element that output o meets at kernel position k, or 0.
template <class T>
T met(const ConvGeometry& g, const T* plane, const std::size_t* o, const std::size_t* k) {
  std::size_t at = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::size_t i = o[a] * g.stride[a] + k[a] * g.dilation[a] - g.padding[a];  // wraps outside
    if (i >= g.in[a]) return 0;
    at = at * g.in[a] + i;
  }
  return plane[at];
}

template <class T>
void check_patches() {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const ConvGeometry& g = c.geometry;
    const ConvGeometry::Axes out = g.out().value();
    const PatchLayout layout = PatchLayout::create(g, out).value();
    const std::size_t positions = ConvGeometry::product(out), cols = c.channels * g.taps(), first = positions / 3;
    const std::vector<T> x = special_values<T>(c.channels * layout.input_plane(), 1);
    std::vector<T> wanted;
    for (std::size_t r = first; r < positions; ++r)
      for (std::size_t k = 0; k < cols; ++k) {
        const std::size_t at[] = {r / (out[1] * out[2]), r / out[2] % out[1], r % out[2]};
        const std::size_t tap[] = {k / (g.kernel[1] * g.kernel[2]) % g.kernel[0], k / g.kernel[2] % g.kernel[1],
                                   k % g.kernel[2]};
        wanted.push_back(met(g, x.data() + k / g.taps() * layout.input_plane(), at, tap));
      }
    EXPECT_TRUE(same(everywhere(c.shared,
                                [&](const Exec& exec) {
                                  std::vector<T> stored(c.channels * layout.plane(), T{5}), y(wanted.size());
                                  if (layout.in_place())
                                    stored = x;
                                  else
                                    store_planes(exec, layout, x.data(), c.channels, element_of<T>, stored.data());
                                  unfold(exec, layout, stored.data(), c.channels, first,
                                         tensor(y, positions - first, cols));
                                  return y;
                                }),
                     wanted));
  }
}
LOOM_OP_TEST(Unfold, L_30_patches_hold_what_their_positions_meet, check_patches)

template <class T>
void check_planes() {
  for (const auto& [rows, channels] : {std::pair<std::size_t, std::size_t>{1, 1}, {17, 3}, {1003, 70}}) {
    const std::size_t positions = rows + 11, first = 4;
    const std::vector<T> x = special_values<T>(rows * channels, 2);
    std::vector<T> wanted(channels * positions);
    for (std::size_t i = 0; i < x.size(); ++i) wanted[i % channels * positions + first + i / channels] = x[i];
    EXPECT_TRUE(same(everywhere(rows * channels > 65536,
                                [&](const Exec& exec) {
                                  std::vector<T> y(wanted.size());
                                  rows_to_planes(exec, tensor(x, rows, channels), positions, first, y.data());
                                  return y;
                                }),
                     wanted));
  }
}
LOOM_OP_TEST(Unfold, rows_of_channels_become_planes, check_planes)

}  // namespace
}  // namespace loom::op_test::of_unfold
