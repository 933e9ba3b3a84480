#include "ops/gemm/exact_products.h"

#include <algorithm>
#include <array>

#include "ops/all.h"
#include "ops/for_rows.h"
#include "ops/gemm/gemm.h"

namespace loom {

ValueBits sample_of(const Exec& exec, const NumberRows& x) {
  constexpr std::size_t kMost = 256;
  ValueBits bits;
  if (x.rows != 0) exec.kernels.gemm.of<float>().add_bits(x.data, std::min(x.cols, kMost), bits);
  return bits;
}

ValueBits bits_of(const Exec& exec, const NumberRows& x, const ValueBits& other) {
  constexpr std::size_t kParts = 64, kPiece = 4096;
  std::array<ValueBits, kParts> parts;
  const std::size_t count = std::min(kParts, x.rows);
  const auto add_bits = exec.kernels.gemm.of<float>().add_bits;
  for_ranges(exec, count, x.rows * x.cols / (count + 1) + 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      ValueBits bits;
      for (std::size_t r = part * x.rows / count; r < (part + 1) * x.rows / count; ++r)
        for (std::size_t i = 0; i < x.cols && bits.significant() + other.significant() <= 24; i += kPiece)
          add_bits(x.data + r * x.stride + i, std::min(kPiece, x.cols - i), bits);
      parts[part] = bits;
    }
  });
  ValueBits all;
  for (const ValueBits& bits : parts)
    all = {all.any | bits.any, std::min(all.least, bits.least), std::max(all.most, bits.most)};
  return all;
}

bool are_products_exact(const Exec& exec, const NumberRows& a, const NumberRows& b) {
  const ValueBits few = sample_of(exec, a);
  if (!are_products_exact(few, sample_of(exec, b))) return false;
  const ValueBits of_b = bits_of(exec, b, few);
  return are_products_exact(few, of_b) && are_products_exact(bits_of(exec, a, of_b), of_b);
}

}  // namespace loom
