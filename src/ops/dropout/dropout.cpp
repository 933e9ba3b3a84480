#include "ops/dropout/dropout.h"

#include "ops/for_rows.h"
#include "simd/orders.h"

namespace loom {

void dropout(const Exec& exec, ConstTensor x, double rate, const RandomStream& stream, Tensor y, std::size_t first) {
  with_element(x.element, [&]<class T>() {
    const auto keep = static_cast<T>(1 - rate);
    for_elements(exec, x.rows * x.cols, [&](std::size_t at, std::size_t n) {
      const T* from = x.as<T>() + at;
      T* to = y.as<T>() + at;
      for (std::size_t i = 0; i < n;) {
        const std::size_t index = first + at + i;
        const auto words = stream.block(index / 4);
        for (std::size_t w = index % 4; w < 4 && i < n; ++w, ++i) {
          const bool stays = static_cast<double>(uniform_of(words[w])) >= rate;
          to[i] = snap(from[i] * (stays ? T{1} : T{0}) / keep);
        }
      }
    });
  });
}

}  // namespace loom
