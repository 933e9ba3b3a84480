#pragma once
// Windows of every sort, for tests.

#include "ops/pool/pool.h"

namespace loom::test {

struct PoolCase {
  const char* name;
  PoolGeometry geometry;
  std::size_t planes;
  bool shared = false;
};

inline const PoolCase kPoolCases[] = {
    {"2x2", {{1, 8, 34}, {1, 2, 2}, {1, 2, 2}}, 3},
    {"3x3 with padding, overlapping", {{1, 9, 21}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}}, 2},
    {"stride 2, padding", {{1, 9, 33}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}}, 2},
    {"padding without overlap", {{1, 7, 19}, {1, 2, 4}, {1, 2, 4}, {0, 1, 2}}, 2},
    {"dilation", {{1, 12, 30}, {1, 2, 3}, {1, 1, 2}, {0, 1, 1}, {1, 3, 2}}, 2},
    {"three axes", {{4, 5, 17}, {2, 3, 2}, {1, 2, 1}, {1, 0, 1}}, 2},
    {"blocks of more than 64", {{1, 20, 40}, {1, 9, 9}, {1, 2, 1}, {0, 4, 4}}, 1},
    {"a row of 1003", {{1, 1, 1003}, {1, 1, 5}, {1, 1, 1}, {0, 0, 2}}, 1},
    {"ceil mode", {{1, 8, 20}, {1, 3, 3}, {1, 2, 2}, {0, 1, 0}, {1, 1, 1}, true, true}, 2},
    {"padding not counted", {{1, 8, 20}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}, true, false}, 2},
    {"pairs, one window", {{1, 2, 3}, {1, 2, 2}, {1, 2, 2}}, 3},
    {"pairs, 7 windows", {{1, 4, 14}, {1, 2, 2}, {1, 2, 2}}, 3},
    {"pairs, 8 windows", {{1, 4, 17}, {1, 2, 2}, {1, 2, 2}}, 3},
    {"pairs, 29 windows", {{1, 5, 58}, {1, 3, 2}, {1, 1, 2}}, 2},
    {"pairs, the last one half outside", {{1, 4, 33}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}, true}, 2},
    {"stride 2, a row of 1100", {{1, 3, 1100}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}}, 1},
    {"stride 2, dilation", {{1, 6, 90}, {1, 2, 4}, {1, 1, 2}, {0, 0, 2}, {1, 1, 5}}, 1},
    {"shared out", {{1, 60, 70}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}}, 5, true},
    {"shared out without overlap", {{1, 60, 70}, {1, 2, 2}, {1, 2, 2}}, 9, true},
};

inline std::size_t volume(const PoolGeometry::Axes& a) { return a[0] * a[1] * a[2]; }

}  // namespace loom::test
