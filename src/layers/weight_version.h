#pragma once
// The values of a weight in one of the 21 types, as ops read them: panels of a matrix, plain numbers of a vector. A
// version is made from a master or from codes; it does not change while anybody else holds it.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/shape.h"
#include "core/thread_pool.h"
#include "dtypes/float16.h"
#include "dtypes/matrix.h"

namespace loom {

using MatrixPtr = std::shared_ptr<const Matrix>;

// Matrices take the cell's type. Vectors beside a matrix stay f32 (f64 with float64); those of kinds without a matrix,
// norms, take the type with one scale (engine L-03). Statistics are measured by training forwards, in f32 or f64; no
// optimiser moves them. Adapters are the two halves of a low-rank adapter, f32 (f64 with float64).
enum class WeightRole : std::uint8_t { Matrix, Vector, TypedVector, Statistic, Adapter };

// Scales with which the input of a matrix of an INT type is quantised (engine D-34): spans as the weights' own, one
// scale per row, or one per group of columns. None decodes the weights to f32 instead and leaves inputs as they are, as
// all other types do.
enum class ActivationQuant : std::uint8_t { Auto, Row, Group, None };

// The type that a weight is encoded to, with the spans of its scales.
struct Encoding {
  DType dtype = DType::float32;
  ScaleSpan span{};
  ActivationQuant activation_quant = ActivationQuant::Auto;
  bool operator==(const Encoding& o) const {
    return dtype == o.dtype && span.granularity == o.span.granularity && span.group_size == o.span.group_size &&
           activation_quant == o.activation_quant;
  }
};

// Name, role and extents: all that a weight is before it has values. A matrix has rows = the first axis, and `parts`
// matrices of as many rows each (the groups of a convolution), which share scales but not panels.
struct WeightForm {
  std::string name;
  WeightRole role = WeightRole::Matrix;
  Shape shape;
  std::size_t parts = 1;

  std::size_t elements() const { return shape.elements(); }
  // The extent of the first axis. A weight with one axis that is no matrix is one row.
  std::size_t rows() const {
    return shape.rank() > 1 || role == WeightRole::Matrix || role == WeightRole::Adapter ? shape[0] : 1;
  }
  std::size_t cols() const { return elements() / rows(); }
  // Returns whether values are encoded to the type; other roles keep f32, or f64 with float64.
  bool is_typed() const { return role == WeightRole::Matrix || role == WeightRole::TypedVector; }
};

struct WeightVersion {
  Encoding encoding;
  std::vector<MatrixPtr> parts;          // matrices
  std::vector<Matrix*> own;              // they, where this version made them and may encode others in their place
  std::vector<float> decoded;            // vectors
  std::vector<double> decoded64;         // vectors in float64
  std::optional<QuantizedMatrix> codes;  // where neither panels nor plain values hold them
  // Lives as long as the values are these; a copy of them on a device is valid as long.
  std::shared_ptr<const void> token{};

  std::size_t bytes() const;
};
using VersionPtr = std::shared_ptr<WeightVersion>;

// Encodes a master, which is one of the two spans. `like`: takes its scales and zero points in place of new ones.
Result<VersionPtr> encode_version(const WeightForm& form, const Encoding& encoding, std::span<const float> master,
                                  std::span<const double> master64, const QuantizedMatrix* like = nullptr);
// Makes a version of codes of one of the types with an encoder.
Result<VersionPtr> version_of_codes(const WeightForm& form, const Encoding& encoding, const QuantizedMatrix& codes);
// Makes an f32 matrix of zeros, whose panels nothing touches until values arrive.
Result<VersionPtr> version_of_zeros(const WeightForm& form);
// Returns codes, scales and zero points. Unsupported for block formats.
Result<QuantizedMatrix> codes_of(const WeightForm& form, const Encoding& encoding, const WeightVersion& version);
// Returns the bytes that a version will take, so that memory is known beforehand.
std::size_t bytes_to_come(const WeightForm& form, const Encoding& encoding);

// Returns whether a version of that type holds scales that codes_of() gives back.
bool has_scales(const WeightForm& form, DType dtype);
// Returns whether a version has panels of its own with the layout of an encoding, so that new values can go into them.
bool has_layout_of(const WeightVersion& version, const Encoding& encoding);
// Encodes values of all parts into a version's own panels, which nobody else reads; the pool may be null.
void fill_panels(std::span<Matrix* const> parts, const Encoding& encoding, std::span<const float> values,
                 ThreadPool* pool);
// Re-encodes the values; the values that the new codes stand for go to `decoded`.
void encode_values(QuantizedMatrix& codes, std::span<const float> values, std::span<float> decoded);

// Runs f(begin, end) over [0, n): one call for few elements or without a pool, else a few per thread.
template <class F>
void in_shares(ThreadPool* pool, std::size_t n, std::size_t elements, F&& f) {
  if (pool == nullptr || elements < 32768) return f(std::size_t{0}, n);
  const std::size_t shares = std::min<std::size_t>(n, static_cast<std::size_t>(pool->threads()) * 4);
  pool->run(shares, [&](std::size_t share) { f(share * n / shares, (share + 1) * n / shares); });
}

// Values below the smallest normal number of the contract are 0 (docs/internals/numerics.md).
inline float snapped_to(float v) { return snapped(v); }
inline double snapped_to(double v) { return std::abs(v) < 0x1p-485 ? 0.0 : v; }

}  // namespace loom
