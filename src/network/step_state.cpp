// What a state holds beyond the running of ticks. One visitor lists its content; hashing, writing and reading are its three archives.

#include "network/step_state.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/checked.h"
#include "core/little_endian.h"
#include "network/step_mesh.h"

namespace loom {
namespace {

constexpr std::string_view kMagic = "LOOMSTEP";
constexpr std::uint64_t kVersion = 1;

// Bytes as every machine writes them.
class Writer {
 public:
  static constexpr bool kReads = false;
  void number(std::uint64_t& value, std::uint64_t /*most*/ = ~std::uint64_t{0}) {
    std::byte bytes[8];
    store_le(bytes, value);
    out.insert(out.end(), bytes, bytes + 8);
  }
  void flag(std::uint8_t& value, std::uint8_t /*most*/ = 1) { out.push_back(std::byte{value}); }
  void tensor(std::byte* data, std::size_t elements, Element element) {
    const std::size_t at = out.size(), item = bytes_of(element);
    out.resize(at + elements * item);
    if constexpr (std::endian::native == std::endian::little) {
      if (elements != 0) std::memcpy(out.data() + at, data, elements * item);
    } else {
      for (std::size_t i = 0; i < elements * item; ++i) out[at + i] = data[i / item * item + (item - 1 - i % item)];
    }
  }
  bool ok() const { return true; }
  std::vector<std::byte> out;
};

// The same bytes hashed as they come.
class Hasher {
 public:
  static constexpr bool kReads = false;
  void number(std::uint64_t& value, std::uint64_t = 0) {
    hash.update_u32(static_cast<std::uint32_t>(value));
    hash.update_u32(static_cast<std::uint32_t>(value >> 32));
  }
  void flag(std::uint8_t& value, std::uint8_t = 1) { hash.update(std::as_bytes(std::span(&value, 1))); }
  void tensor(std::byte* data, std::size_t elements, Element element) {
    if constexpr (std::endian::native == std::endian::little) {
      hash.update({data, elements * bytes_of(element)});
    } else {
      Writer writer;
      writer.tensor(data, elements, element);
      hash.update(writer.out);
    }
  }
  bool ok() const { return true; }
  Sha256 hash;
};

// Never reads beyond the end; after the first thing that does not fit everything reads as 0.
class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  void number(std::uint64_t& value, std::uint64_t most = ~std::uint64_t{0}) {
    const auto bytes = take(8);
    value = bytes.empty() ? 0 : load_le<std::uint64_t>(bytes.data());
    check(value, value <= most);
  }
  void flag(std::uint8_t& value, std::uint8_t most = 1) {
    const auto bytes = take(1);
    value = bytes.empty() ? 0 : std::to_integer<std::uint8_t>(bytes[0]);
    check(value, value <= most);
  }
  void tensor(std::byte* data, std::size_t elements, Element element) {
    const std::size_t item = bytes_of(element);
    const auto bytes = take(elements * item);
    if (bytes.empty()) return;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(data, bytes.data(), bytes.size());
    } else {
      for (std::size_t i = 0; i < bytes.size(); ++i) data[i / item * item + (item - 1 - i % item)] = bytes[i];
    }
  }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && left_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t n) {
    if (n > left_.size()) ok_ = false;
    if (!ok_) return {};
    const auto bytes = left_.first(n);
    left_ = left_.subspan(n);
    return bytes;
  }
  template <class T>
  void check(T& value, bool fits) {
    if (!fits) ok_ = false, value = 0;
  }
  std::span<const std::byte> left_;
  bool ok_ = true;
};

void visit_real(auto& archive, double& value) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  archive.number(bits);
  value = std::bit_cast<double>(bits);
}

template <class Archive>
void visit_extents(Archive& archive, Shape& shape) {
  std::uint64_t rank = shape.rank();
  archive.number(rank, Shape::kMaxRank);
  std::array<std::size_t, Shape::kMaxRank> extents{};
  std::ranges::copy(shape.extents(), extents.begin());
  for (std::size_t i = 0; i < rank; ++i) {
    std::uint64_t extent = extents[i];
    archive.number(extent, Shape::kMaxElements);
    extents[i] = static_cast<std::size_t>(extent);
  }
  if constexpr (Archive::kReads) {
    const auto read = Shape::create(std::span(extents).first(static_cast<std::size_t>(rank)));
    if (read)
      shape = *read;
    else
      rank = Shape::kMaxRank + 1, archive.number(rank, 0);  // what follows is void
  }
}

template <class Archive>
void visit_meta(Archive& archive, MetaState& m) {
  if (!m.planned) return;
  archive.number(m.calls);
  for (std::size_t i = 0; i < m.remembered(); ++i) {
    TensorStats& s = m.history[i];
    for (double* figure : {&s.avg, &s.std, &s.max, &s.min, &s.active, &s.total}) visit_real(archive, *figure);
  }
  for (std::size_t r = 0; r < MetaState::kMaxRules; ++r) {
    archive.number(m.spoke[r]);
    std::uint8_t queued = m.queued[r];
    archive.flag(queued);
    m.queued[r] = queued != 0;
  }
  visit_extents(archive, m.input), visit_extents(archive, m.output);
}

}  // namespace

std::byte* StepState::value(std::size_t cell, std::size_t half) const {
  return port() + mesh_->port_bytes_ + half * mesh_->value_bytes_ + mesh_->cells_[cell].value;
}
std::byte* StepState::recurrent(std::size_t half) const {
  return port() + mesh_->port_bytes_ + 2 * mesh_->value_bytes_ + half * mesh_->recurrent_bytes_;
}
std::byte* StepState::slot(std::size_t index) const { return const_cast<std::byte*>(history_.data()) + index * mesh_->slot_bytes_; }
bool StepState::is_void() const { return plan_ != mesh_->plan_; }
bool StepState::pending_slot() const { return pending_ && (captured_ || mesh_->options_.keep_inputs); }
std::size_t StepState::ring_index(std::size_t back) const { return (newest_ + ticks_.size() - back) % ticks_.size(); }

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
  if (is_void()) return fail(Code::InvalidState, "the mesh has adopted a changed network without this state");
  if (x.element != mesh_->element())
    return fail(Code::InvalidArgument, "the input is {}, the network computes in {}", x.element == Element::f64 ? "f64" : "f32",
                mesh_->element() == Element::f64 ? "f64" : "f32");
  if (!(x.shape == mesh_->network().step_input()))
    return fail(Code::ShapeMismatch, "an input of shape {}, the mesh was prepared for {}", x.shape.text(), mesh_->network().step_input().text());
  std::memcpy(port(), x.data, x.shape.elements() * bytes_of(x.element));
  port_ = hold ? Port::Hold : Port::Pulse;
  return {};
}

Result<ConstView> StepState::output(std::size_t cell) const {
  if (is_void()) return fail(Code::InvalidState, "the mesh has adopted a changed network without this state");
  if (cell >= present_.size()) return fail(Code::OutOfRange, "cell {} of {}", cell, present_.size());
  if (!present_[cell]) return fail(Code::NoValue, "{} has no output after {} ticks", mesh_->network().place_text(cell), step_count_);
  return ConstView{value(cell, half_[cell]), mesh_->cells_[cell].cell.output, mesh_->element()};
}

double StepState::gate_loss() const {
  double sum = 0;
  for (const double loss : gate_losses_) sum += loss;
  return sum;
}

void StepState::reset() {
  if (is_void()) return;
  port_ = Port::Absent;
  std::ranges::fill(present_, std::uint8_t{0}), std::ranges::fill(wrote_, std::uint8_t{0});
  std::ranges::fill(gate_losses_, 0.0);
  if (mesh_->recurrent_bytes_ != 0) std::memset(recurrent(0), 0, 2 * mesh_->recurrent_bytes_);
  recurrent_half_ = 0;
  metas_ = pending_metas_ = mesh_->metas_;
  step_count_ = 0, pending_ = captured_ = kept_ = false, count_ = 0;
  newest_ = ticks_.empty() ? 0 : ticks_.size() - 1;
}

Result<StepState> StepState::fork() const {
  LOOM_TRY(StepState copy, mesh_->create_state());
  LOOM_TRY_VOID(copy.restore(*this));
  return copy;
}

Result<void> StepState::restore(const StepState& from) {
  if (is_void() || from.is_void()) return fail(Code::InvalidState, "the mesh has adopted a changed network without this state");
  if (from.mesh_ != mesh_) return fail(Code::InvalidArgument, "the state belongs to another step mesh");
  if (&from == this) return {};
  std::memcpy(port(), from.port(), mesh_->state_bytes_);
  const std::size_t slots = from.used_slots() + (from.pending_slot() ? 1 : 0);
  const std::size_t last = from.newest_ + (from.pending_slot() ? 1 : 0);
  for (std::size_t b = 0; b < slots; ++b) {
    const std::size_t index = (last + ticks_.size() - b) % ticks_.size();
    std::memcpy(slot(index), from.slot(index), mesh_->slot_bytes_);
    if (!metas_before_.empty()) metas_before_[index] = from.metas_before_[index];
  }
  port_ = from.port_, recurrent_half_ = from.recurrent_half_;
  present_ = from.present_, half_ = from.half_, wrote_ = from.wrote_, gate_losses_ = from.gate_losses_;
  metas_ = from.metas_, pending_metas_ = from.pending_metas_, ticks_ = from.ticks_;
  step_count_ = from.step_count_, pending_ = from.pending_, captured_ = from.captured_, kept_ = from.kept_, newest_ = from.newest_, count_ = from.count_;
  return {};
}

// Outputs of the cells that have one.
template <class Archive>
void StepState::visit_values(Archive& archive, std::span<std::uint8_t> which, std::size_t flip) {
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (!mesh_->cells_[i].cell.starts) continue;
    archive.flag(which[i]);
    if (which[i]) archive.tensor(value(i, half_[i] ^ flip), mesh_->cells_[i].cell.output.elements(), mesh_->element());
  }
}

template <class Archive>
void StepState::visit_recurrent(Archive& archive, std::byte* block) {
  for (std::size_t k = 0; k < recurrent_.size(); ++k) {
    if (mesh_->recurrent_at_[k] == StepCell::kNone) continue;
    const std::size_t elements = recurrent_[k].shape.elements();
    std::byte* const h = block + mesh_->recurrent_at_[k];
    archive.tensor(h, elements, mesh_->element());
    if (recurrent_[k].has_cell) archive.tensor(h + round_up(elements * bytes_of(mesh_->element()), Buffer::kAlignment), elements, mesh_->element());
  }
}

// A captured tick: what it began with, and the inputs of the cells that ran.
template <class Archive>
void StepState::visit_slot(Archive& archive, std::size_t index) {
  std::byte* const memory = slot(index);
  archive.number(ticks_[index].step);
  std::uint8_t training = ticks_[index].training;
  archive.flag(training);
  ticks_[index].training = training != 0;
  for (std::size_t i = 0; i <= present_.size(); ++i) {
    auto present = std::to_integer<std::uint8_t>(memory[i]);
    archive.flag(present);
    memory[i] = std::byte{present};
  }
  for (std::size_t i = 0; i < present_.size(); ++i)
    if (mesh_->ran(memory, i)) archive.tensor(memory + mesh_->cells_[i].captured, mesh_->cells_[i].cell.input.elements(), mesh_->element());
  for (std::size_t k = 0; k < mesh_->skips_.size(); ++k) {
    const std::size_t cell = mesh_->network().source_of_slot(k);
    if (mesh_->skips_[k] != StepCell::kNone) archive.tensor(memory + mesh_->skips_[k], mesh_->cells_[cell].cell.output.elements(), mesh_->element());
  }
  visit_recurrent(archive, memory + mesh_->slot_recurrent_);
  if (!metas_before_.empty())
    for (MetaState& m : metas_before_[index]) visit_meta(archive, m);
}

template <class Archive>
void StepState::visit(Archive& archive) {
  archive.number(step_count_);
  auto port_state = static_cast<std::uint8_t>(port_);
  archive.flag(port_state, 2);
  port_ = static_cast<Port>(port_state);
  if (port_ != Port::Absent) archive.tensor(port(), mesh_->network().step_input().elements(), mesh_->element());
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
  std::uint64_t count = count_;
  archive.number(count, mesh_->options_.history_capacity);
  std::uint8_t kept = kept_;
  if (mesh_->options_.keep_inputs && count == 0) archive.flag(kept);  // captured ticks are kept ones
  if constexpr (Archive::kReads) {
    count_ = static_cast<std::size_t>(count), kept_ = kept != 0 || count_ != 0;
    newest_ = used_slots() == 0 ? newest_ : used_slots() - 1;
  }
  for (std::size_t b = used_slots(); b-- > 0 && archive.ok();) visit_slot(archive, ring_index(b));
  if (pending_slot() && archive.ok()) visit_slot(archive, (newest_ + 1) % ticks_.size());
}

Digest StepState::hash() const {
  if (is_void()) return {};
  Hasher archive;
  const_cast<StepState*>(this)->visit(archive);  // an archive that does not read changes nothing
  return archive.hash.finish();
}

std::vector<std::byte> StepState::snapshot() const {
  if (is_void()) return {};
  Writer archive;
  for (const char c : kMagic) archive.out.push_back(std::byte(c));
  std::uint64_t version = kVersion;
  archive.number(version);
  const Digest mesh = mesh_->digest();
  archive.out.insert(archive.out.end(), reinterpret_cast<const std::byte*>(mesh.data()), reinterpret_cast<const std::byte*>(mesh.data()) + mesh.size());
  const_cast<StepState*>(this)->visit(archive);
  Sha256 hash;
  hash.update(archive.out);
  const Digest sum = hash.finish();
  archive.out.insert(archive.out.end(), reinterpret_cast<const std::byte*>(sum.data()), reinterpret_cast<const std::byte*>(sum.data()) + sum.size());
  return std::move(archive.out);
}

Result<void> StepState::restore(std::span<const std::byte> snapshot) {
  if (is_void()) return fail(Code::InvalidState, "the mesh has adopted a changed network without this state");
  reset();
  constexpr std::size_t kHead = kMagic.size() + 8, kSum = sizeof(Digest);
  if (snapshot.size() < kHead + 2 * kSum || std::memcmp(snapshot.data(), kMagic.data(), kMagic.size()) != 0)
    return fail(Code::CorruptData, "{} bytes are no snapshot of a step mesh", snapshot.size());
  if (const auto version = load_le<std::uint64_t>(snapshot.data() + kMagic.size()); version != kVersion)
    return fail(Code::Unsupported, "a snapshot of version {}, this program reads {}", version, kVersion);
  const auto body = snapshot.first(snapshot.size() - kSum);
  Sha256 hash;
  hash.update(body);
  const Digest sum = hash.finish(), mesh = mesh_->digest();
  if (std::memcmp(sum.data(), snapshot.last(kSum).data(), kSum) != 0) return fail(Code::CorruptData, "snapshot of a step mesh: its checksum does not fit");
  if (std::memcmp(mesh.data(), body.data() + kHead, kSum) != 0)
    return fail(Code::InvalidArgument, "the snapshot belongs to a step mesh of other shapes");
  Reader archive(body.subspan(kHead + kSum));
  visit(archive);
  if (archive.done()) return {};
  reset();
  return fail(Code::CorruptData, "snapshot of a step mesh: its content does not fit the mesh");
}

}  // namespace loom
