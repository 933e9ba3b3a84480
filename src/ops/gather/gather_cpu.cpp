#include "ops/gather/gather.h"

#include "simd/orders.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
std::size_t ids_of(const T* x, std::size_t n, std::size_t table_rows, std::int32_t* ids) {
  std::size_t first = n;
  for (std::size_t r = n; r-- > 0;) {
    const auto v = static_cast<double>(x[r]);
    // Compared before it is converted: refuses NaN and values that an integer cannot hold.
    const bool inside = v >= 0 && v < static_cast<double>(table_rows) && v < 2147483648.0 &&
                        static_cast<double>(static_cast<std::int32_t>(v)) == v;
    ids[r] = inside ? static_cast<std::int32_t>(v) : kNoRow;
    if (!inside) first = r;
  }
  return first;
}

}  // namespace

extern const PerElement<GatherKernels> gather_kernels;
const PerElement<GatherKernels> gather_kernels = {{.ids = ids_of<float>}, {.ids = ids_of<double>}};

}  // namespace loom::inline LOOM_TARGET
