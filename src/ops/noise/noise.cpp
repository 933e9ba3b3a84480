#include "ops/noise/noise.h"

#include <algorithm>

#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void normal_noise(const Exec& exec, double scale, const RandomStream& stream, Tensor y) {
  with_element(y.element, [&]<class T>() {
    constexpr std::size_t kPiece = 256;
    for_pieces(exec, y.rows * y.cols, [&](std::size_t, std::size_t begin, std::size_t count) {
      alignas(64) T uniforms[kPiece], numbers[kPiece];
      for (std::size_t at = begin; at < begin + count; at += kPiece) {
        const std::size_t n = std::min(kPiece, begin + count - at), pairs = (n + 1) / 2;
        for (std::size_t i = 0; i < 2 * pairs; i += 4) {
          const PhiloxBlock words = stream.block((at + i) / 4);  // pieces begin at multiples of 4
          for (std::size_t w = 0; w < 4; ++w) uniforms[i + w] = static_cast<T>(uniform_of(words[w]));
        }
        exec.kernels.noise.of<T>().normal(uniforms, pairs, static_cast<T>(scale), numbers);
        std::copy_n(numbers, n, y.as<T>() + at);
      }
    });
  });
}

}  // namespace loom
