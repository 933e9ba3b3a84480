#pragma once
// One named weight of a layer (engine 4.3): its master, its versions in the 21 types and the one that is active. A
// weight is const while networks run; morph, set and inject happen between runs.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/exec.h"
#include "core/philox.h"
#include "dtypes/matrix.h"

namespace loom {

using MatrixPtr = std::shared_ptr<const Matrix>;

// Matrices take the cell's type. Vectors beside a matrix stay f32 (f64 with float64); those of kinds without a matrix,
// norms, take the type with one scale (engine L-03). Statistics are measured by training forwards, in f32 or f64; no
// optimiser moves them. Adapters are the two halves of a low-rank adapter, f32 (f64 with float64).
enum class WeightRole : std::uint8_t { Matrix, Vector, TypedVector, Statistic, Adapter };

// A fresh weight is filled by one of these rules (engine J-02).
struct WeightInit {
  // LogCount: log 1, log 2, .. along every row. InverseSoftplus: what softplus makes a number between 0.001 and 0.1,
  // its logarithm uniform.
  enum class Rule : std::uint8_t {
    Zeros,
    Ones,
    Glorot,
    He,
    Uniform,
    Normal,
    Identity,
    LogCount,
    InverseSoftplus
  } rule = Rule::Zeros;
  std::size_t fan_in = 1, fan_out = 1;
  double size = 0;  // half width of Uniform, deviation of Normal
};

// The input of a matrix of an INT type is quantised (engine D-34) with scales that lie as the weights' own, with one
// per row, or with one per group of columns. None decodes the weights to f32 instead and leaves inputs as they are, as
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

struct Adapter;

class Weight {
 public:
  // Fixes name, role and extents; nothing has a value yet. A matrix has rows = the first axis, and `parts` matrices of
  // as many rows each (the groups of a convolution), which share scales but not panels.
  Result<void> declare(std::string name, WeightRole role, std::span<const std::size_t> extents,
                       const WeightInit& init = {}, std::size_t parts = 1);
  bool declared() const { return !name_.empty(); }

  const std::string& name() const { return name_; }
  WeightRole role() const { return role_; }
  const Shape& shape() const { return shape_; }
  const WeightInit& initial() const { return init_; }
  std::size_t elements() const { return shape_.elements(); }
  // The extent of the first axis. A weight with one axis that is no matrix is one row.
  std::size_t rows() const {
    return shape_.rank() > 1 || role_ == WeightRole::Matrix || role_ == WeightRole::Adapter ? shape_[0] : 1;
  }
  std::size_t cols() const { return elements() / rows(); }
  std::size_t parts() const { return parts_; }

  // Puts values into the master, snapped; the active version follows. Another number of values is ShapeMismatch;
  // NonFinite names the index.
  Result<void> set(std::span<const float> values);
  Result<void> set(std::span<const double> values);
  // The master in its own type, [rows, cols], for an optimiser to move; without data when there is none.
  // commit_update() follows.
  Tensor master_for_update();
  // Encodes the moved master as the active version (engine D-22), in place where nobody else holds it; the other
  // versions are dropped. NonFinite names the index, unless the caller has seen that all is finite; the version is then
  // as before.
  enum class Values : std::uint8_t { Any, Finite };
  Result<void> commit_update(ThreadPool& pool, Values values = Values::Any);
  // The same for a pass on a device: values move where the device has them, and the active version there follows, by
  // kernels, or by this computer where it has none for it (gpu::encodes, frozen scales). Until fetch() the values here
  // may be those of before (is_ahead); values that are set here in between replace them. Clears the arena of `exec`.
  Tensor master_for_update(const Exec& exec);
  Result<void> commit_update(const Exec& exec, Values values = Values::Any);
  // Takes the values of a tensor of the pass, elements() of f32 that are snapped. They are the caller's to look at.
  Result<void> take(const Exec& exec, const void* values);
  bool is_ahead() const { return owner().ahead_ != nullptr; }
  Result<void> fetch();
  // commit_update() encodes with the scales and zero points that the active version has now, or estimates them anew
  // (engine D-37).
  void freeze_scales(bool frozen) { owner().keeps_scales_ = frozen; }
  // Fills the master by the rule, a function of (seed, site) alone.
  Result<void> initialise(const WeightInit& init, std::uint64_t seed, std::uint32_t site);
  // Encodes the master, unless a version like that is cached, and makes it the active one. InvalidArgument without a
  // master.
  Result<void> morph(const Encoding& encoding);
  // Takes panels as they are, without a master.
  Result<void> inject(MatrixPtr matrix);
  // Takes data in the canonical packing (dtypes/packing.h), without a master unless the type holds one. Errors as of
  // unpack(); NonFinite also for float codes that are no finite number.
  Result<void> inject(const Encoding& encoding, std::span<const std::byte> codes,
                      std::span<const std::byte> scales = {}, std::span<const std::byte> zeros = {});
  // Takes ternary codes as Microsoft's BitNet b1.58 checkpoints store them: Matrix::from_bitnet().
  Result<void> inject_bitnet(std::span<const std::byte> codes, float weight_scale);
  // quantized() gives the active version as codes, scales and zero points; restore() takes them back, without a master
  // unless the type holds one. Unsupported for block formats.
  Result<QuantizedMatrix> quantized() const;
  Result<void> restore(const QuantizedMatrix& codes, const Encoding& encoding);
  // Adds a float32 or float64 master to the version that restore() brought, which stays as it is.
  Result<void> restore_master(const QuantizedMatrix& master);
  // The master's values; empty where there is none.
  std::span<const float> master() const {
    LOOM_ASSERT(!is_ahead());
    return owner().master_;
  }
  std::span<const double> master64() const { return owner().master64_; }
  // Takes the other weight's values, exactly and in its type; versions are immutable, so that the copy may share them.
  // ShapeMismatch.
  Result<void> copy_from(const Weight& other);
  // Shares values and gradients with another weight of the same extents, which must outlive this one.
  Result<void> tie(Weight& owner);
  void untie() { tied_ = nullptr; }
  // Frees the master if the active version holds the values; ensure_master() decodes it again.
  void release_master();
  Result<void> ensure_master();
  // Keeps the master in that type, the one that a network computes in; the active version stays as it is. Nothing
  // happens without a master. Unsupported for values that float32 does not hold exactly.
  Result<void> convert_master(Element element);
  void trim_versions();

  bool has_value() const { return has_master() || active_ != nullptr; }
  bool has_master() const { return tied_ != nullptr ? tied_->has_master() : !master_.empty() || !master64_.empty(); }
  bool is_tied() const { return tied_ != nullptr; }
  const Encoding& encoding() const { return owner().encoding_; }
  DType dtype() const { return encoding().dtype; }

  // The active version of a matrix.
  const MatrixPtr& matrix(std::size_t part = 0) const { return owner().active_->parts[part]; }
  // The values that the active version stands for, row-major: where they lie, or decoded into the arena.
  template <class T>
  const T* values(const Exec& exec) const;
  void decode(std::size_t first, std::size_t count, float* to) const { owner().decode_to(first, count, to); }
  void decode(std::size_t first, std::size_t count, double* to) const { owner().decode_to(first, count, to); }
  // Stands for the values that are active: while somebody holds it, a change makes another version and leaves this one
  // where it lies.
  std::shared_ptr<const void> version() const { return owner().active_; }
  // The f32 values where they lie in memory, as vectors of language models do, or null.
  const float* plain() const { return owner().plain_; }

  // Adapters, whose products are added to those of this matrix in list order (layers/adapter.h). They belong to this
  // use of a tied weight.
  std::vector<Adapter>& adapters() { return adapters_; }
  const std::vector<Adapter>& adapters() const { return adapters_; }
  // The gradient of a frozen weight is not wanted; a tied one is frozen with its owner.
  bool is_frozen() const { return owner().frozen_; }
  void freeze(bool frozen) { frozen_ = frozen; }

  std::size_t resident_bytes() const;
  // The place of this weight's gradients in Gradients; the owner's when tied.
  std::size_t slot() const { return owner().slot_; }
  void set_slot(std::size_t slot) { slot_ = slot; }

 private:
  struct Version {
    Encoding encoding;
    std::vector<MatrixPtr> parts;          // matrices
    std::vector<float> decoded;            // vectors
    std::vector<double> decoded64;         // vectors in float64
    std::optional<QuantizedMatrix> codes;  // where neither panels nor plain values hold them
    // lives as long as the values are these; a copy of them somewhere else is good as long
    std::shared_ptr<const void> token{};
  };
  const Weight& owner() const { return tied_ != nullptr ? *tied_ : *this; }
  Weight& owner() { return tied_ != nullptr ? *tied_ : *this; }
  Result<std::shared_ptr<Version>> encode(const Encoding& encoding, const QuantizedMatrix* like = nullptr) const;
  Result<std::shared_ptr<Version>> version_of(const QuantizedMatrix& codes, const Encoding& encoding) const;
  Result<void> refresh(const QuantizedMatrix* like = nullptr);
  Result<void> refresh_zeros();
  bool refill(ThreadPool* pool);
  template <class T>
  Result<void> set_of(std::span<const T> values);
  template <class T>
  void decode_to(std::size_t first, std::size_t count, T* to) const;
  void find_plain();
  Result<void> encode_master(ThreadPool& pool, Values values);
  bool moves_as_it_lies() const;
  bool is_own() const;
  std::span<const float> placed(const Exec& exec, std::span<const float> values) const;

  std::string name_;
  WeightRole role_ = WeightRole::Matrix;
  Shape shape_;
  WeightInit init_;
  std::size_t parts_ = 1, slot_ = 0;
  std::vector<float> master_;
  std::vector<double> master64_;  // with float64
  Encoding encoding_;
  std::vector<std::shared_ptr<Version>> versions_;
  std::shared_ptr<Version> active_;
  const float* plain_ = nullptr;
  Weight* tied_ = nullptr;
  std::vector<Adapter> adapters_;
  bool frozen_ = false, keeps_scales_ = false;
  std::shared_ptr<const void> master_token_;  // of what a device has of a master that is not decoded values
  Device* ahead_ = nullptr;                   // has newer values
};

// y += scale * B (A x) beside a matrix [out, in] (engine L-140): A [rank, in], B [out, rank].
struct Adapter {
  std::string name;
  double scale = 1;  // alpha / rank
  bool enabled = true;
  Weight a, b;
};

}  // namespace loom
