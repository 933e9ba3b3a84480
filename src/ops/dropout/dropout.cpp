#include "ops/dropout/dropout.h"

#include "ops/for_rows.h"
#include "ops/scalar_sums.h"

namespace loom {

void dropout(const Exec& exec, ConstTensor x, double rate, const RandomStream& stream, Tensor y) {
  with_element(x.element, [&]<class T>() {
    const auto keep = static_cast<T>(1 - rate);
    for_elements(exec, x.rows * x.cols, [&](std::size_t at, std::size_t n) {
      const T* from = x.as<T>() + at;
      T* to = y.as<T>() + at;
      for (std::size_t first = 0; first < n; first += 4) {  // pieces begin at multiples of four
        const auto words = stream.block((at + first) / 4);
        for (std::size_t i = first; i < first + 4 && i < n; ++i) {
          const bool stays = static_cast<double>(uniform_of(words[i - first])) >= rate;
          to[i] = snap_one(from[i] * (stays ? T{1} : T{0}) / keep);
        }
      }
    });
  });
}

}  // namespace loom
