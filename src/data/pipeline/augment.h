#pragma once
// Changed copies of images [height, width] or [channels, height, width]: each a function of (seed, epoch, sample)
// alone.

#include <cstdint>
#include <span>

#include "core/error.h"
#include "core/shape.h"

namespace loom {

struct AugmentConfig {
  bool flip_horizontal = false, flip_vertical = false;  // each with probability 1/2
  std::uint32_t shift = 0;                              // by -shift to shift pixels on either axis; what comes in is 0
  // a window of the image with `padding` zeros on each side; 0: as the image
  std::uint32_t crop_height = 0, crop_width = 0;
  std::uint32_t padding = 0;
  bool centred = false;  // the window is in the middle, rounded up and left, whatever is drawn
  float noise = 0;       // standard deviation of normal noise; for inputs of any shape, added after the normalisation

  bool moves_pixels() const {
    return flip_horizontal || flip_vertical || shift != 0 || crop_height != 0 || crop_width != 0 || padding != 0;
  }
  // The same window of every image, for samples that nothing is learnt from: of the shape that the changed copies have.
  AugmentConfig window() const {
    return {.crop_height = crop_height, .crop_width = crop_width, .padding = padding, .centred = true};
  }
  // Shape of a sample of shape `input` after augmentation. ShapeMismatch for inputs that are not images; InvalidConfig
  // for a crop larger than the padded image, a padding or shift beyond 2^20, or noise that is negative or not finite.
  Result<Shape> output_shape(const Shape& input) const;
};

struct SampleKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint32_t sample = 0;
};

// Flips, shifts and crops `from`, a sample of `input`, to `to`, one of `output`. The draws are words 8 sample to 8
// sample + 5 of the stream (seed, domain 9, step = epoch, site "augment"): horizontal, vertical flip, shift down,
// right, crop from the top, left.
void augment_pixels(const AugmentConfig& config, const SampleKey& key, const Shape& input, const Shape& output,
                    std::span<const float> from, std::span<float> to);
// Adds `noise` times normal deviates of elements sample * size + i of site "augment.noise"; snapped.
void add_noise(const AugmentConfig& config, const SampleKey& key, std::span<float> sample);

}  // namespace loom
