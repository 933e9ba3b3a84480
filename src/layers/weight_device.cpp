// Trains WeightValues on a device: finds its copies of the master and of the active version, and knows which side has
// newer values.

#include <algorithm>
#include <utility>

#include "backend/rehearsal.h"
#include "layers/weight_values.h"
#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matrix_gpu.h"

namespace loom {
namespace {

// Re-encodes the panels of matrices on a device from values in its memory.
void refill_on_device(const Exec& exec, const WeightVersion& version, const Encoding& e,
                      std::span<const float> values) {
  for (const Exec& host : dispatch(exec, [&] { gpu::refill(exec, version.parts, e.span, values.data()); })) {
    if (!host.computes()) continue;
    fill_panels(version.own, e, values, nullptr);
    for (const MatrixPtr& part : version.parts) {
      const std::size_t factor_bytes = part->panels() * kPanelRows * sizeof(float);
      const auto put = [&](const void* from, std::size_t bytes) {
        const std::span<const std::byte> values_of_part{static_cast<const std::byte*>(from), bytes};
        if (from == nullptr) return;
        if (auto at = exec.arena.device()->place(part->token(), values_of_part))
          std::ranges::copy(values_of_part, const_cast<std::byte*>(*at));
      };
      put(part->panel(0), part->panels() * part->panel_bytes());
      put(part->row_scales(), factor_bytes), put(part->row_zeros(), factor_bytes);
    }
  }
}

// Like `refill_on_device()`, for values that are kept decoded: `codes` have their type, sizes and span.
void encode_on_device(const Exec& exec, const QuantizedMatrix& codes, std::span<const float> values,
                      std::span<float> decoded) {
  for (const Exec& host : dispatch(exec, [&] { gpu::requantize(exec, codes, values.data(), decoded.data()); })) {
    if (!host.computes()) continue;
    QuantizedMatrix own = codes;
    encode_values(own, values, decoded);
  }
}

}  // namespace

// Returns whether an update moves the very values that ops read: f32, but for panels, which are made of them.
bool WeightValues::moves_as_stored() const {
  return encoding_.dtype == DType::float32 || (encoding_.dtype != DType::float64 && !form_.is_typed());
}

// Returns whether kernels of a device encode new values in place of a version that nobody else holds.
bool WeightValues::is_encoded_on_device() const {
  if (!is_unshared() || !gpu::encodes(encoding_.dtype)) return false;
  if (keeps_scales_ && has_scales(form_, encoding_.dtype)) return false;
  const bool has_codes = active_->codes.has_value();
  if (!is_matrix()) return has_codes;
  return has_layout_of(*active_, has_codes ? Encoding() : encoding_);
}

Tensor WeightValues::master_for_update(const Exec& exec) {
  if (!exec.records() || exec.rehearsal() || master_.empty()) return master_for_update();
  const auto give_up = [&](Error error) {
    if (!exec.status) exec.status = std::move(error);
    return Tensor{};
  };
  const float* at = nullptr;
  if (moves_as_stored()) {
    if (!is_unshared()) {
      if (auto fetched = fetch(); !fetched) return give_up(std::move(fetched).error());
      if (auto made = refresh(); !made) return give_up(std::move(made).error());
    }
    at = placed(exec, {plain_, elements()}).data();
  } else {
    // The next version is made like the host version, or others hold that one: fetch() brings it up to date first.
    if (ahead_ != nullptr && !is_encoded_on_device())
      if (auto fetched = fetch(); !fetched) return give_up(std::move(fetched).error());
    if (master_token_ == nullptr) master_token_ = std::make_shared<char>();
    auto placed = exec.arena.device()->place(master_token_, std::as_bytes(std::span(master_)));
    if (!placed) return give_up(std::move(placed).error());
    at = reinterpret_cast<const float*>(*placed);
  }
  return {const_cast<float*>(at), form_.rows(), form_.cols(), Element::f32};
}

// Encodes the active version from the master on the device.
void WeightValues::follow_on_device(const Exec& exec, std::span<const float> master) {
  if (!active_->codes) return refill_on_device(exec, *active_, encoding_, master);
  auto* const to =
      is_matrix() ? exec.arena.take<float>(elements()) : const_cast<float*>(placed(exec, active_->decoded).data());
  if (!exec.status) encode_on_device(exec, *active_->codes, master, {to, elements()});
  if (!exec.status && is_matrix()) refill_on_device(exec, *active_, {}, {to, elements()});
}

Result<void> WeightValues::commit_update(const Exec& exec, Check check) {
  if (!exec.records() || master_.empty()) return commit_update(exec.pool, check);
  const Tensor moved = master_for_update(exec);
  if (exec.status) return tl::make_unexpected(*exec.status);
  if (!moves_as_stored() && !is_encoded_on_device()) {
    exec.arena.device()->read(moved.as<std::byte>(), std::as_writable_bytes(std::span(master_)));
    LOOM_TRY_VOID(exec.arena.device()->check());
    return encode_master(exec.pool, check);
  }
  const std::span<const float> from{moved.as<float>(), elements()};
  if (!moves_as_stored())
    LOOM_TRY_VOID(plan_scratch(exec, [&](const Exec& rehearsal) { follow_on_device(rehearsal, from); }));
  if (is_matrix() || !moves_as_stored()) follow_on_device(exec, from);
  if (exec.status) return tl::make_unexpected(*exec.status);
  ahead_ = exec.arena.device();
  return {};
}

Result<void> WeightValues::take(const Exec& exec, const void* values) {
  LOOM_TRY_VOID(ensure_master());
  const Tensor to = master_for_update(exec);
  if (to.data != nullptr) copy(exec, {values, to.rows, to.cols, to.element}, to);
  if (exec.status) return tl::make_unexpected(*exec.status);
  return commit_update(exec, Check::Finite);
}

Result<void> WeightValues::fetch() {
  if (ahead_ == nullptr) return {};
  Device& device = *ahead_;
  const bool as_stored = moves_as_stored();
  const float* const on_host = as_stored ? plain_ : master_.data();
  LOOM_TRY(const std::byte* const at,
           device.place(as_stored ? active_->token : master_token_, std::as_bytes(std::span(on_host, elements()))));
  device.read(at, std::as_writable_bytes(std::span(master_)));
  LOOM_TRY_VOID(device.check());
  ahead_ = nullptr;  // still set where the card was lost: the host's values are older
  // Copies on the device stay valid, so tokens stay.
  std::vector<float> values;
  if (active_->codes) values.resize(elements()), encode_values(*active_->codes, master_, values);
  const std::span<const float> now = active_->codes ? values : master_;
  if (is_matrix())
    fill_panels(active_->own, active_->codes ? Encoding() : encoding_, now, nullptr);
  else
    std::ranges::copy(now, active_->decoded.begin());
  return {};
}

// Returns the values in host memory, or the copy of them that the device has.
std::span<const float> WeightValues::placed(const Exec& exec, std::span<const float> values) const {
  Device* const device = exec.arena.device();
  if (device == nullptr || exec.rehearsal() || active_ == nullptr) return values;
  if (active_->token == nullptr) active_->token = std::make_shared<char>();
  auto at = device->place(active_->token, std::as_bytes(values));
  if (at) return {reinterpret_cast<const float*>(*at), values.size()};
  if (!exec.status) exec.status = std::move(at.error().in_source(form_.name));
  return values;
}

}  // namespace loom
