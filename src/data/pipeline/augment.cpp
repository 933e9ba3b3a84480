#include "data/pipeline/augment.h"

#include <array>
#include <cmath>

#include "core/philox.h"
#include "dtypes/float16.h"
#include "simd/normal.h"

namespace loom {
namespace {

constexpr std::uint32_t kMaxMove = 1u << 20;

}  // namespace

Result<Shape> AugmentConfig::output_shape(const Shape& input) const {
  if (!(noise >= 0 && std::isfinite(noise)))
    return fail(Code::InvalidConfig, "augment: noise {}, expected 0 or more", noise);
  if (!moves_pixels()) return input;
  const std::size_t rank = input.rank();
  if (rank != 2 && rank != 3)
    return fail(Code::ShapeMismatch,
                "augment: samples are {}, flips, shifts and crops need [height, width] or [channels, height, width]",
                input.text());
  if (shift > kMaxMove || padding > kMaxMove)
    return fail(Code::InvalidConfig, "augment: shift {}, padding {}, at most {}", shift, padding, kMaxMove);
  const std::size_t height = crop_height == 0 ? input[rank - 2] : crop_height,
                    width = crop_width == 0 ? input[rank - 1] : crop_width;
  if (height > input[rank - 2] + 2 * std::size_t{padding} || width > input[rank - 1] + 2 * std::size_t{padding})
    return fail(Code::InvalidConfig, "augment: a crop of {} x {} from {} with {} pixels of padding", height, width,
                input.text(), padding);
  return rank == 2 ? Shape::create(std::array{height, width}) : Shape::create(std::array{input[0], height, width});
}

void augment_pixels(const AugmentConfig& config, const SampleKey& key, const Shape& input, const Shape& output,
                    std::span<const float> from, std::span<float> to) {
  const RandomStream stream{key.seed, RandomDomain::Noise, key.epoch, random_site("augment")};
  const auto draw = [&](std::uint64_t which, std::int64_t bound) {
    return static_cast<std::int64_t>(
        stream.below(std::uint64_t{key.sample} * 8 + which, static_cast<std::uint32_t>(bound)));
  };
  const std::size_t rank = input.rank();
  const auto in_height = static_cast<std::int64_t>(input[rank - 2]),
             in_width = static_cast<std::int64_t>(input[rank - 1]);
  const auto height = static_cast<std::int64_t>(output[rank - 2]), width = static_cast<std::int64_t>(output[rank - 1]);
  const std::int64_t channels = rank == 3 ? static_cast<std::int64_t>(input[0]) : 1, shift = config.shift,
                     padding = config.padding;
  const bool mirror = config.flip_horizontal && draw(0, 2) == 1, turn = config.flip_vertical && draw(1, 2) == 1;
  // Pixel (y, x) of the output comes from (y + top, x + left) of the flipped image.
  const auto first = [&](std::uint64_t which, std::int64_t places) {
    return (config.centred ? (places - 1) / 2 : draw(which, places)) - padding;
  };
  const std::int64_t top = first(4, in_height + 2 * padding - height + 1) - (draw(2, 2 * shift + 1) - shift);
  const std::int64_t left = first(5, in_width + 2 * padding - width + 1) - (draw(3, 2 * shift + 1) - shift);
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x) {
        std::int64_t row = y + top, column = x + left;
        const bool inside = row >= 0 && row < in_height && column >= 0 && column < in_width;
        if (turn) row = in_height - 1 - row;
        if (mirror) column = in_width - 1 - column;
        to[static_cast<std::size_t>((c * height + y) * width + x)] =
            inside ? from[static_cast<std::size_t>((c * in_height + row) * in_width + column)] : 0.0f;
      }
}

void add_noise(const AugmentConfig& config, const SampleKey& key, std::span<float> sample) {
  if (config.noise == 0) return;
  const RandomStream stream{key.seed, RandomDomain::Noise, key.epoch, random_site("augment.noise")};
  const std::uint64_t first = std::uint64_t{key.sample} * sample.size();
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const auto noise = static_cast<float>(normal(stream, first + i));
    sample[i] = snapped(sample[i] + snapped(config.noise * noise));
  }
}

}  // namespace loom
