#pragma once
// One named weight of a layer (engine 4.3): the layer's name for values, which tied weights share
// (layers/weight_values.h), and what belongs to this use of them.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layers/weight_values.h"

namespace loom {

struct Adapter;

class Weight {
 public:
  using Values = WeightValues::Check;

  Weight() = default;
  Weight(Weight&&) noexcept = default;
  Weight& operator=(Weight&&) noexcept = default;

  // Fixes name, role and extents (WeightForm); nothing has a value yet.
  Result<void> declare(std::string name, WeightRole role, std::span<const std::size_t> extents,
                       const WeightInit& init = {}, std::size_t parts = 1);
  bool declared() const { return values_ != nullptr; }

  const std::string& name() const { return form_.name; }
  WeightRole role() const { return form_.role; }
  const Shape& shape() const { return form_.shape; }
  const WeightInit& initial() const { return init_; }
  std::size_t elements() const { return form_.elements(); }
  std::size_t rows() const { return form_.rows(); }
  std::size_t cols() const { return form_.cols(); }
  std::size_t parts() const { return form_.parts; }

  // Takes the values of another weight of the same extents as its own: one object under two names, until untie().
  // ShapeMismatch.
  Result<void> tie(const Weight& owner);
  void untie() { values_ = own_; }
  bool is_tied() const { return values_ != own_; }
  // Returns one address for weights that are tied, another for all others: the key of a weight's gradient and of its
  // optimiser slots.
  const void* identity() const { return values_.get(); }
  // A frozen weight gets no gradient; a tied one is frozen with its owner.
  bool is_frozen() const { return values_ != nullptr && values_->is_frozen(); }
  void freeze(bool frozen) { own_->freeze(frozen); }

  // Adapters, whose products are added to those of this matrix in list order (layers/adapter.h). They belong to this
  // use of a tied weight.
  std::vector<Adapter>& adapters() { return adapters_; }
  const std::vector<Adapter>& adapters() const { return adapters_; }

  // The values, as WeightValues describes them; the weight is declared.
  Result<void> set(std::span<const float> values) { return values_->set(values); }
  Result<void> set(std::span<const double> values) { return values_->set(values); }
  Result<void> initialise(const WeightInit& init, std::uint64_t seed, std::uint32_t site) {
    return values_->initialise(init, seed, site);
  }
  Result<void> morph(const Encoding& encoding) { return values_->morph(encoding); }
  Result<void> inject(MatrixPtr matrix) { return values_->inject(std::move(matrix)); }
  Result<void> inject(const Encoding& encoding, std::span<const std::byte> codes,
                      std::span<const std::byte> scales = {}, std::span<const std::byte> zeros = {}) {
    return values_->inject(encoding, codes, scales, zeros);
  }
  Result<QuantizedMatrix> quantized() const { return values_->quantized(); }
  Result<void> restore(const QuantizedMatrix& codes, const Encoding& encoding) {
    return values_->restore(codes, encoding);
  }
  Result<void> copy_from(const Weight& other) { return values_->copy_from(*other.values_); }
  bool has_value() const { return values_ != nullptr && values_->has_value(); }
  const Encoding& encoding() const { return values_->encoding(); }
  DType dtype() const { return encoding().dtype; }
  const MatrixPtr& matrix(std::size_t part = 0) const { return values_->matrix(part); }
  template <class T>
  const T* values(const Exec& exec) const {
    return values_->values<T>(exec);
  }
  template <class T>
  void decode(std::size_t first, std::size_t count, T* to) const {
    values_->decode(first, count, to);
  }
  std::shared_ptr<const void> version() const { return values_->version(); }
  const float* plain() const { return values_->plain(); }
  // Counts the values of this weight alone: 0 where it is tied.
  std::size_t resident_bytes() const { return is_tied() ? 0 : values_->resident_bytes(); }

  std::span<const float> master() const { return values_->master(); }
  std::span<const double> master64() const { return values_->master64(); }
  bool has_master() const { return values_ != nullptr && values_->has_master(); }
  Result<void> restore_master(const QuantizedMatrix& master) { return values_->restore_master(master); }
  Result<void> convert_master(Element element) { return values_->convert_master(element); }
  Result<void> ensure_master() { return values_->ensure_master(); }
  void release_master() { values_->release_master(); }
  void trim_versions() { values_->trim_versions(); }
  // The state of the weight's own values, which a tied weight does not show.
  WeightValues::Kept kept() const { return own_->kept(); }
  void put_back(const WeightValues::Kept& kept) { own_->put_back(kept); }

  Tensor master_for_update() { return values_->master_for_update(); }
  Tensor master_for_update(const Exec& exec) { return values_->master_for_update(exec); }
  Result<void> commit_update(ThreadPool& pool, Values values = Values::Any) {
    return values_->commit_update(pool, values);
  }
  Result<void> commit_update(const Exec& exec, Values values = Values::Any) {
    return values_->commit_update(exec, values);
  }
  Result<void> take(const Exec& exec, const void* values) { return values_->take(exec, values); }
  bool is_ahead() const { return values_->is_ahead(); }
  Result<void> fetch() { return values_->fetch(); }
  void freeze_scales(bool frozen) { values_->freeze_scales(frozen); }

 private:
  WeightForm form_;
  WeightInit init_;
  std::shared_ptr<WeightValues> own_, values_;  // values_ are another weight's while tied
  std::vector<Adapter> adapters_;
};

// y += scale * B (A x) beside a matrix [out, in] (engine L-140): A [rank, in], B [out, rank].
struct Adapter {
  std::string name;
  double scale = 1;  // alpha / rank
  bool enabled = true;
  Weight a, b;
};

}  // namespace loom
