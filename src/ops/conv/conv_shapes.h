#pragma once
// Convolutions of every sort, for tests.

#include <vector>

#include "ops/conv/conv.h"

namespace loom::test {

struct ConvShapes {
  const char* name;
  ConvGeometry geometry;
  ConvSizes sizes;
  ConvGeometry::Axes crop{0, 0, 0};  // off the end
  bool divides = false;              // large enough for several threads
};

inline const std::vector<ConvShapes>& conv_shapes() {
  static const std::vector<ConvShapes> all = {
      {"3x3, several blocks of terms", {{1, 9, 21}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}}, {3, 1, 17, 9}},
      {"whole rows of lanes", {{1, 5, 32}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}}, {2, 1, 3, 16}},
      {"no padding", {{1, 7, 23}, {1, 3, 2}}, {2, 2, 5, 7}},
      {"1x1", {{1, 5, 7}, {1, 1, 1}}, {2, 2, 70, 5}},
      {"fewer positions than lanes", {{1, 3, 3}, {1, 2, 2}}, {17, 1, 3, 2}},
      {"narrow", {{2, 5, 4}, {2, 3, 3}, {1, 1, 1}, {1, 1, 1}}, {2, 2, 3, 7}},
      {"stride 2", {{1, 9, 40}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}}, {2, 1, 4, 3}},
      {"stride 3, dilation 2", {{5, 11, 43}, {2, 3, 3}, {2, 3, 3}, {1, 2, 5}, {2, 2, 2}}, {2, 1, 2, 5}},
      {"stride beyond the kernel", {{1, 6, 9}, {1, 1, 1}, {1, 2, 4}}, {2, 1, 3, 2}},
      {"padding beyond the input", {{1, 2, 3}, {1, 3, 3}, {1, 1, 1}, {0, 5, 20}}, {1, 1, 2, 3}},
      {"depthwise", {{1, 8, 28}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}}, {3, 19, 1, 1}},
      {"depthwise 9x9, stride 2", {{1, 20, 28}, {1, 9, 9}, {1, 2, 2}, {0, 4, 4}}, {18, 3, 1, 1}},
      {"depthwise 5x3 without padding", {{1, 11, 19}, {1, 5, 3}}, {2, 5, 1, 1}},
      {"depthwise 3x2, padded in front", {{1, 3, 16}, {1, 3, 2}, {1, 1, 1}, {0, 1, 0}}, {1, 7, 1, 1}},
      {"depthwise 5x5, shared out", {{1, 30, 36}, {1, 5, 5}, {1, 1, 1}, {0, 2, 2}}, {2, 40, 1, 1}, {0, 0, 0}, true},
      {"depthwise 3x27", {{1, 5, 40}, {1, 3, 27}, {1, 1, 1}, {0, 1, 13}}, {1, 3, 1, 1}},
      {"depthwise, two filters each", {{1, 4, 18}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}}, {2, 5, 1, 2}},
      {"transposed", {{1, 4, 9}, {1, 3, 4}, {1, 2, 3}, {0, 1, 0}, {1, 1, 1}, {0, 1, 2}, true}, {2, 2, 3, 5}},
      {"transposed, dilation", {{2, 3, 5}, {2, 3, 3}, {1, 1, 2}, {1, 3, 0}, {1, 2, 3}, {0, 0, 1}, true}, {2, 1, 7, 4}},
      {"depthwise, narrow", {{1, 6, 10}, {1, 5, 5}, {1, 1, 1}, {0, 2, 2}}, {2, 19, 1, 1}},
      {"depthwise, narrow, stride 2", {{1, 12, 17}, {1, 5, 5}, {1, 2, 2}, {0, 2, 2}}, {1, 33, 1, 1}},
      {"few filters, narrow", {{1, 9, 7}, {1, 3, 3}, {1, 1, 1}, {0, 1, 0}}, {2, 3, 2, 3}},
      {"few filters, narrow, in place", {{1, 9, 7}, {1, 3, 3}}, {2, 3, 2, 2}},
      {"narrow, shared out", {{1, 30, 12}, {1, 5, 5}, {1, 1, 1}, {0, 2, 2}}, {4, 60, 1, 1}, {0, 0, 0}, true},
      {"tiles that share the weights", {{1, 11, 23}, {1, 3, 1}}, {2, 1, 60, 110}},
      {"cropped", {{1, 6, 19}, {1, 3, 3}, {1, 2, 1}, {0, 1, 1}}, {2, 1, 3, 4}, {0, 1, 2}},
      {"shared out", {{1, 22, 25}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}}, {5, 1, 14, 19}, {0, 0, 0}, true},
      {"transposed, shared out",
       {{1, 12, 13}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}, {0, 1, 1}, true},
       {5, 2, 7, 9},
       {0, 0, 0},
       true},
  };
  return all;
}

}  // namespace loom::test
