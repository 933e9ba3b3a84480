#pragma once
// The values of a weight: its master, its versions in the 21 types and the one that is active. Weights that are tied
// share one object. Values are const while networks run; morph, set and inject happen between runs.
//
// The master is what every version is encoded from and what files keep, so it outlives a training. Gradients and
// optimiser slots belong to the run that makes them (layers/gradients.h, learning/optimizer.h).

#include <memory>
#include <span>
#include <vector>

#include "backend/exec.h"
#include "layers/weight_init.h"
#include "layers/weight_version.h"

namespace loom {

class WeightValues {
 public:
  explicit WeightValues(WeightForm form) : form_(std::move(form)) {}
  const WeightForm& form() const { return form_; }

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
  enum class Check : std::uint8_t { Any, Finite };
  Result<void> commit_update(ThreadPool& pool, Check check = Check::Any);
  // Like `master_for_update()` and `commit_update()`, for a pass on a device: values move in the device's memory, and
  // kernels update its active version. The host re-encodes it where the device has no kernel for it (gpu::encodes,
  // frozen scales). Until fetch() the host's values may be older ones (is_ahead); values set on the host before fetch()
  // replace the device's. Clears the arena of `exec`.
  Tensor master_for_update(const Exec& exec);
  Result<void> commit_update(const Exec& exec, Check check = Check::Any);
  // Takes the values of a tensor of the pass, elements() of f32 that are snapped. They are the caller's to look at.
  Result<void> take(const Exec& exec, const void* values);
  bool is_ahead() const { return ahead_ != nullptr; }
  Result<void> fetch();
  // commit_update() encodes with the current scales and zero points of the active version if frozen, else estimates
  // them again (engine D-37).
  void freeze_scales(bool frozen) { keeps_scales_ = frozen; }
  // Fills the master by the rule, a function of (seed, site) alone.
  Result<void> initialise(const WeightInit& init, std::uint64_t seed, std::uint32_t site);
  // Encodes the master, unless a version like that is cached, and makes it the active one. InvalidArgument without a
  // master.
  Result<void> morph(const Encoding& encoding);
  // Takes panels as they are, without a master.
  Result<void> inject(MatrixPtr matrix);
  // Takes data in the canonical packing (dtypes/packing.h), without a master unless the type holds one. Errors as of
  // unpack(); NonFinite also for float codes that are no finite number.
  Result<void> inject(const Encoding& encoding, std::span<const std::byte> codes, std::span<const std::byte> scales,
                      std::span<const std::byte> zeros);
  // quantized() gives the active version as codes, scales and zero points; restore() takes them back, without a master
  // unless the type holds one. Unsupported for block formats.
  Result<QuantizedMatrix> quantized() const;
  Result<void> restore(const QuantizedMatrix& codes, const Encoding& encoding);
  // Adds a float32 or float64 master to the version that restore() brought, which stays as it is.
  Result<void> restore_master(const QuantizedMatrix& master);
  // The master's values; empty where there is none.
  std::span<const float> master() const {
    LOOM_ASSERT(!is_ahead());
    return master_;
  }
  std::span<const double> master64() const { return master64_; }
  // Takes the other's values, exactly and in its type; versions are immutable, so that the copy may share them.
  // ShapeMismatch.
  Result<void> copy_from(const WeightValues& other);
  // Frees the master if the active version holds the values; ensure_master() decodes it again.
  void release_master();
  Result<void> ensure_master();
  // Keeps the master in that type, the one that a network computes in; the active version stays as it is. Nothing
  // happens without a master. Unsupported for values that float32 does not hold exactly.
  Result<void> convert_master(Element element);
  void trim_versions();

  // Types, versions and what learns, which morph(), ensure_master(), convert_master() and freeze() change without a
  // change of values; put_back() returns to them exactly. No set(), update or injection in between.
  struct Kept {
    Encoding encoding;
    std::vector<VersionPtr> versions;
    VersionPtr active;
    bool frozen = false, keeps_scales = false, has_f32 = false, has_f64 = false;
  };
  Kept kept() const;
  void put_back(const Kept& kept);

  bool has_master() const { return !master_.empty() || !master64_.empty(); }
  bool has_value() const { return active_ != nullptr || has_master(); }
  const Encoding& encoding() const { return encoding_; }

  // The active version of a matrix.
  const MatrixPtr& matrix(std::size_t part) const { return active_->parts[part]; }
  // Returns the values that the active version stands for, row-major: in place, or decoded into the arena.
  template <class T>
  const T* values(const Exec& exec) const;
  template <class T>
  void decode(std::size_t first, std::size_t count, T* to) const;
  // Returns a handle of the active values: while somebody holds it, a change makes another version and leaves this one
  // as it is.
  std::shared_ptr<const void> version() const { return active_; }
  // Returns the active f32 values if memory holds them as plain floats, as for vectors of language models; else null.
  const float* plain() const { return plain_; }
  std::size_t resident_bytes() const;

  // Whether a training leaves these values as they are: they get no gradient.
  bool is_frozen() const { return frozen_; }
  void freeze(bool frozen) { frozen_ = frozen; }

 private:
  std::size_t elements() const { return form_.elements(); }
  bool is_matrix() const { return form_.role == WeightRole::Matrix; }
  void forget_device() {
    ahead_ = nullptr;
    master_token_.reset();
  }
  Result<void> activate(Result<VersionPtr> version);
  Result<void> refresh(const QuantizedMatrix* like = nullptr);
  Result<void> refresh_zeros();
  bool refill(ThreadPool* pool);
  template <class T>
  Result<void> set_of(std::span<const T> values);
  template <class T>
  Result<void> check_finite(ThreadPool& pool, std::span<const T> values) const;
  void find_plain();
  Result<void> encode_master(ThreadPool& pool, Check check);
  bool moves_as_stored() const;
  bool is_unshared() const;
  bool is_encoded_on_device() const;
  void follow_on_device(const Exec& exec, std::span<const float> master);
  std::span<const float> placed(const Exec& exec, std::span<const float> values) const;

  WeightForm form_;
  std::vector<float> master_;
  std::vector<double> master64_;  // with float64
  Encoding encoding_;
  std::vector<VersionPtr> versions_;
  VersionPtr active_;
  const float* plain_ = nullptr;
  bool frozen_ = false, keeps_scales_ = false;
  std::shared_ptr<const void> master_token_;  // of what a device has of a master that is not decoded values
  Device* ahead_ = nullptr;                   // has newer values
};

}  // namespace loom
