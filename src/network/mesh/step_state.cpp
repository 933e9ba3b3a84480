// Contents of a state apart from running ticks. One visitor lists them; hashing, writing and reading are its three
// archives.

#include "network/mesh/step_state.h"

#include <algorithm>
#include <cstring>

#include "core/checked.h"
#include "network/session/state_archive.h"
#include "network/session/state_frame.h"
#include "network/mesh/step_mesh.h"

namespace loom {
std::byte* StepState::value(std::size_t cell, std::size_t half) const {
  return base_ + mesh_->layout_.values_at(half) + mesh_->cells_[cell].value;
}
std::byte* StepState::recurrent(std::size_t half) const { return base_ + mesh_->layout_.recurrent_at(half); }
std::byte* StepState::gate(std::size_t cell, std::size_t half) const {
  return base_ + mesh_->layout_.gates_at(half) + cell * sizeof(double);
}
bool StepState::is_void() const { return plan_ != mesh_->plan_; }
bool StepState::pending_slot() const { return pending_ && (captured_ || mesh_->options_.keep_inputs); }

// Layers write the half that the pending tick makes.
void StepState::point_recurrent() {
  for (std::size_t k = 0; k < recurrent_.size(); ++k) {
    if (mesh_->recurrent_at_[k] == StepCell::kNone) continue;
    RecurrentState& state = recurrent_[k];
    state.h = recurrent(recurrent_half_ ^ 1u) + mesh_->recurrent_at_[k];
    const std::size_t bytes = round_up(state.shape.elements() * bytes_of(mesh_->element()), Buffer::kAlignment);
    state.c = state.has_cell ? static_cast<std::byte*>(state.h) + bytes : nullptr;
    state.continues = true;  // from zeros, at first
  }
}

Result<void> StepState::set_input(const ConstView& x, bool hold) {
  if (is_void()) return fail(Code::InvalidState, "the mesh has taken a new plan without this state");
  if (x.element != mesh_->element())
    return fail(Code::InvalidArgument, "the input is {}, the network computes in {}",
                x.element == Element::f64 ? "f64" : "f32", mesh_->element() == Element::f64 ? "f64" : "f32");
  if (!(x.shape == mesh_->layout_.input))
    return fail(Code::ShapeMismatch, "an input of shape {}, the mesh was prepared for {}", x.shape.text(),
                mesh_->layout_.input.text());
  memory_.write(0, {x.as<std::byte>(), x.shape.elements() * bytes_of(x.element)});
  port_ = hold ? Port::Hold : Port::Pulse;
  return {};
}

Result<ConstView> StepState::output(std::size_t cell) const {
  if (is_void()) return fail(Code::InvalidState, "the mesh has taken a new plan without this state");
  if (cell >= present_.size()) return fail(Code::OutOfRange, "cell {} of {}", cell, present_.size());
  if (!present_[cell])
    return fail(Code::NoValue, "{} has no output after {} ticks", mesh_->network().place_text(cell), step_count_);
  return ConstView{value(cell, half_[cell]), mesh_->cells_[cell].cell.output, mesh_->element()};
}

double StepState::gate_loss() const {
  if (is_void()) return 0;
  const std::size_t half = mesh_->layout_.gate_bytes / sizeof(double);
  std::vector<double> losses(2 * half);  // memory of one element each
  memory_.read(mesh_->layout_.gates_at(0), std::as_writable_bytes(std::span(losses)));
  double sum = 0;
  for (std::size_t i = 0; i < present_.size(); ++i)
    if (present_[i]) sum += read_element({&losses[half_[i] * half + i], 1, 1, mesh_->element()});
  return sum;
}

void StepState::reset() {
  if (is_void()) return;
  port_ = Port::Absent;
  std::ranges::fill(present_, std::uint8_t{0}), std::ranges::fill(wrote_, std::uint8_t{0});
  const StepLayout& layout = mesh_->layout_;  // the values stay: nobody reads one that is not present
  memory_.write(layout.recurrent_at(0), std::vector<std::byte>(layout.state_bytes() - layout.recurrent_at(0)));
  recurrent_half_ = 0;
  metas_ = pending_metas_ = mesh_->metas_;
  step_count_ = 0, pending_ = captured_ = false;
  history_.clear();
}

Result<StepState> StepState::fork() const {
  LOOM_TRY(StepState copy, mesh_->create_state());
  LOOM_TRY_VOID(copy.restore(*this));
  return copy;
}

Result<void> StepState::restore(const StepState& from) {
  if (is_void() || from.is_void()) return fail(Code::InvalidState, "the mesh has taken a new plan without this state");
  if (from.mesh_ != mesh_) return fail(Code::InvalidArgument, "the state belongs to another step mesh");
  if (&from == this) return {};
  memory_.copy(0, from.memory_, 0, mesh_->layout_.state_bytes());
  history_.copy(from.history_, from.pending_slot());
  port_ = from.port_, recurrent_half_ = from.recurrent_half_;
  present_ = from.present_, half_ = from.half_, wrote_ = from.wrote_;
  metas_ = from.metas_, pending_metas_ = from.pending_metas_;
  step_count_ = from.step_count_, pending_ = from.pending_, captured_ = from.captured_;
  return {};
}

// Outputs of the cells that have one, and the losses of their gates.
template <class Archive>
void StepState::visit_values(Archive& archive, std::span<std::uint8_t> which, std::size_t flip) {
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (!mesh_->cells_[i].cell.starts) continue;
    archive.flag(which[i]);
    if (!which[i]) continue;
    archive.tensor(value(i, half_[i] ^ flip), mesh_->cells_[i].cell.output.elements(), mesh_->element());
    archive.tensor(gate(i, half_[i] ^ flip), 1, mesh_->element());
  }
}

template <class Archive>
void StepState::visit_recurrent(Archive& archive, std::byte* block) {
  for (std::size_t k = 0; k < recurrent_.size(); ++k) {
    if (mesh_->recurrent_at_[k] == StepCell::kNone) continue;
    const std::size_t elements = recurrent_[k].shape.elements();
    std::byte* const h = block + mesh_->recurrent_at_[k];
    archive.tensor(h, elements, mesh_->element());
    if (recurrent_[k].has_cell)
      archive.tensor(h + round_up(elements * bytes_of(mesh_->element()), Buffer::kAlignment), elements,
                     mesh_->element());
  }
}

// A captured tick: what it began with, and the inputs of the cells that ran.
template <class Archive>
void StepState::visit_slot(Archive& archive, std::size_t index) {
  std::byte* const memory = history_.slot(index);
  std::uint8_t* const held = history_.held(index);
  StepHistory::Tick& tick = history_.tick(index);
  archive.number(tick.step);
  std::uint8_t training = tick.training;
  archive.flag(training);
  tick.training = training != 0;
  // A cell that never starts holds nothing: it has no memory for a value or a gradient.
  for (std::size_t i = 0; i <= present_.size(); ++i)
    archive.flag(held[i], i == present_.size() || mesh_->cells_[i].cell.starts ? 1 : 0);
  for (std::size_t i = 0; i < present_.size(); ++i)
    if (mesh_->ran(held, i))
      archive.tensor(memory + mesh_->cells_[i].captured, mesh_->cells_[i].cell.input.elements(), mesh_->element());
  for (std::size_t k = 0; k < mesh_->skips_.size(); ++k) {
    const std::size_t cell = mesh_->plan()->source_of_slot(k);
    if (mesh_->skips_[k] != StepCell::kNone)
      archive.tensor(memory + mesh_->skips_[k], mesh_->cells_[cell].cell.output.elements(), mesh_->element());
  }
  visit_recurrent(archive, memory + mesh_->layout_.slot_recurrent);
  if (history_.has_metas())
    for (MetaState& m : history_.metas(index)) visit_meta(archive, m);
}

template <class Archive>
void StepState::visit(Archive& archive) {
  archive.number(step_count_);
  auto port_state = static_cast<std::uint8_t>(port_);
  archive.flag(port_state, 2);
  port_ = static_cast<Port>(port_state);
  if (port_ != Port::Absent) archive.tensor(port(), mesh_->layout_.input.elements(), mesh_->element());
  visit_values(archive, present_, 0);
  visit_recurrent(archive, recurrent(recurrent_half_));
  for (MetaState& m : metas_) visit_meta(archive, m);
  std::uint8_t pending = pending_, captured = captured_;
  archive.flag(pending);
  pending_ = pending != 0;
  if (pending_) {
    archive.flag(captured, mesh_->options_.history_capacity == 0 ? 0 : 1);
    captured_ = captured != 0;
    visit_values(archive, wrote_, 1);
    visit_recurrent(archive, recurrent(recurrent_half_ ^ 1u));
    for (MetaState& m : pending_metas_) visit_meta(archive, m);
  }
  std::uint64_t count = history_.count();
  archive.number(count, mesh_->options_.history_capacity);
  std::uint8_t kept = history_.is_kept();
  if (mesh_->options_.keep_inputs && count == 0) archive.flag(kept);  // captured ticks are kept ones
  if constexpr (Archive::kReads) history_.set_counts(static_cast<std::size_t>(count), kept != 0);
  for (std::size_t b = history_.used(); b-- > 0 && archive.ok();) visit_slot(archive, history_.index(b));
  if (pending_slot() && archive.ok()) visit_slot(archive, history_.next());
}

template <class F>
void StepState::on_host(bool writes, F&& f) {
  if (memory_.device() == nullptr) return f();
  Memory& slots = history_.memory();
  std::vector<std::byte> memory(memory_.size()), history(slots.size());
  memory_.read(0, memory), slots.read(0, history);
  base_ = memory.data();
  history_.look_at(history.data());
  f();
  base_ = memory_.data();
  history_.look_at(slots.data());
  if (writes) memory_.write(0, memory), slots.write(0, history);
}

Digest StepState::hash() const {
  if (is_void()) return {};
  StateHasher archive;
  auto* const self = const_cast<StepState*>(this);  // an archive that does not read changes nothing
  self->on_host(false, [&] { self->visit(archive); });
  return archive.hash.finish();
}

std::vector<std::byte> StepState::snapshot() const {
  if (is_void()) return {};
  StateWriter archive;
  auto* const self = const_cast<StepState*>(this);
  self->on_host(false, [&] { self->visit(archive); });
  return frame_state(StateKind::StepMesh, mesh_->digest(), archive.out);
}

Result<void> StepState::restore(std::span<const std::byte> snapshot) {
  if (is_void()) return fail(Code::InvalidState, "the mesh has taken a new plan without this state");
  reset();
  LOOM_TRY(const auto body, unframe_state(StateKind::StepMesh, mesh_->digest(), snapshot));
  StateReader archive(body);
  on_host(true, [&] { visit(archive); });
  if (archive.done()) return {};
  reset();
  return fail(Code::CorruptData, "snapshot of a step mesh: its content does not fit the mesh");
}

}  // namespace loom
