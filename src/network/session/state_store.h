#pragma once
// A state store holds everything that the layers of one network remember from call to call for one user: caches of
// attention, recurrent states, memories of metacognition layers. Each has its state slot (StateNeeds). Sessions of
// networks and of language models hold one store each.

#include <memory>
#include <span>
#include <vector>

#include "backend/device.h"
#include "layers/layer.h"
#include "network/network.h"
#include "network/session/state_archive.h"

namespace loom {

struct StateOptions {
  Device* device = nullptr;
  // Positions of a sequence at most; 0: attention keeps nothing, every call is a sequence of its own.
  std::size_t context = 0;
  std::size_t sequences = 0;  // that calls name; 0: those of the samples, as a rehearsal finds them
  std::size_t max_chunk = 0;  // positions of one call at most
  DType kv_dtype = DType::float32;
};

// Memories of a network's metacognition layers by state slot, empty where it has no such layer. They follow their
// layer's site, since slots move when layers come and go; each use of a shared layer has a memory of its own, and the
// n-th use goes on with what the n-th one had in `before`.
std::vector<MetaState> metas_of(std::span<const StateNeeds> needs, std::span<const MetaState> before);

class StateStore {
 public:
  // Makes states for the needs of a plan, in a network's element type. All are at 0 but the memories of metacognition
  // layers that stayed. LimitExceeded, Unsupported, OutOfMemory.
  Result<void> plan(std::span<const StateNeeds> needs, Element element, const StateOptions& options);
  StateSlots slots() { return {attention_, recurrent_, metas_}; }
  // Memory for what a rehearsal planned; states keep their values where their extents stay the same.
  Result<void> allocate();
  // Before a call: ContextFull where a sample's next steps do not fit. `reached` positions of named sequences.
  Result<void> begin(std::size_t reached = 0);
  // Ends the call. After one that failed it puts every layer back to where it was; it returns false where some layer
  // could not be put back, and then everything is at 0.
  bool end(bool succeeded);
  void reset();
  // Positions before the next call, the same in every attention layer.
  std::size_t length() const;
  // Back to where n positions had been taken. OutOfRange; Unsupported where a recurrent layer has gone on.
  Result<void> rewind(std::size_t n);

  // Recurrent states in order of execution.
  std::size_t num_recurrent() const { return recurrent_slots_.size(); }
  const RecurrentState& recurrent(std::size_t index) const { return recurrent_[recurrent_slots_[index]]; }
  // h and c as bytes of the element type; no c: zeros.
  void set_recurrent(std::size_t index, std::span<const std::byte> h, std::span<const std::byte> c);
  // The next call starts from the states that the last one left, in layers that are not `stateful` too.
  void continue_recurrent();
  std::span<MetaState> metas() { return metas_; }
  // A store is stateful where the order of calls changes their results.
  bool is_stateful() const;

  // Memory of one position of one sequence, in all layers.
  std::size_t position_bytes() const;
  // Caches of named sequences.
  bool continues_at(std::size_t sequence, std::size_t n) const;
  void rewind(std::size_t sequence, std::size_t n);
  // Returns whether the sequence loses nothing when it grows to n positions: no ring drops any.
  bool keeps_all(std::size_t sequence, std::size_t n) const;
  // The first n positions of one sequence become those of another: KvCache::share() of every layer.
  bool can_share(std::size_t from, std::size_t n, std::size_t to) const;
  Result<void> share(std::size_t from, std::size_t n, std::size_t to);
  // Like rewind(), and returns the memory of later positions to the pool.
  void clear(std::size_t sequence, std::size_t n = 0);
  // Host memory of the positions of all sequences; shared memory counts once.
  std::size_t used_bytes() const { return pieces_ == nullptr ? 0 : pieces_->used_bytes(); }

  // keep() copies recurrent states in the memory that holds them, on the host or on the device. For a store that has no
  // other states; put_back() expects one that is planned for the same input.
  bool has_recurrent_alone() const;
  Result<void> keep(const Exec& exec);
  void put_back(const Exec& exec);

  // All that the next call depends on, of a store that is planned for the same input.
  template <class Archive>
  Result<void> visit(Archive& archive);
  // The caches of one named sequence that has n positions.
  void write_sequence(StateWriter& archive, std::size_t sequence, std::size_t n);
  // CorruptData, OutOfMemory, after which they are what they were.
  Result<void> read_sequence(StateReader& archive, std::size_t sequence, std::size_t n);

 private:
  Result<void> plan_attention();
  Result<void> create_caches(std::size_t slot, std::size_t sequences);
  Result<void> plan_metas();
  void restart();
  bool has_caches() const { return options_.context != 0; }
  bool carries(const RecurrentState& state) const {
    return state.h != nullptr && (state.stateful || has_caches()) && state.continues;
  }

  std::vector<StateNeeds> needs_;
  Element element_ = Element::f32;
  StateOptions options_;
  std::vector<RopeTable> ropes_;       // distinct ones
  std::unique_ptr<PiecePool> pieces_;  // of caches of named sequences, which go first
  std::vector<AttentionState> attention_;
  std::vector<RecurrentState> recurrent_;
  std::vector<Memory> recurrent_memory_;  // h, then c
  std::vector<std::size_t> recurrent_slots_;
  std::vector<Memory> kept_;  // of recurrent memory; without size where nothing is carried
  std::vector<MetaState> metas_;
};

// Slots that carry nothing take one byte: a layer that is not `stateful` starts from zeros, and so does one whose
// extents change.
template <class Archive>
Result<void> StateStore::visit(Archive& archive) {
  for (const std::size_t slot : recurrent_slots_) {
    RecurrentState& state = recurrent_[slot];
    std::uint8_t is_carried = carries(state);
    archive.flag(is_carried);
    if (is_carried == 0) continue;
    Shape shape = state.shape;
    visit_extents(archive, shape);
    if (state.h == nullptr || !(state.stateful || has_caches()) || !(shape == state.shape))
      return fail(Code::CorruptData, "carried states: one of shape {}, the layer's is {}", shape.text(),
                  state.shape.text());
    visit_memory(archive, recurrent_memory_[slot], 0, shape.elements(), element_);
    if (state.has_cell)
      visit_memory(archive, recurrent_memory_[slot],
                   static_cast<std::size_t>(static_cast<std::byte*>(state.c) - recurrent_memory_[slot].data()),
                   shape.elements(), element_);
    state.continues = true;
  }
  for (MetaState& meta : metas_) visit_meta(archive, meta);
  for (AttentionState& state : attention_) {
    if (state.caches.empty()) continue;
    std::uint64_t samples = state.caches.size(), length = state.length;
    archive.number(samples, state.caches.size());
    archive.number(length, state.limit);
    if (samples != state.caches.size())
      return fail(Code::CorruptData, "carried states: {} sequences, the layer has {}", samples, state.caches.size());
    state.length = static_cast<std::size_t>(length);
    for (KvCache& cache : state.caches) {
      LOOM_TRY_VOID(cache.visit(archive, state.length));
      if constexpr (Archive::kReads)
        if (!cache.continues_at(state.length))
          return fail(Code::CorruptData, "carried states: keys of fewer positions than {}", state.length);
    }
  }
  return {};
}

}  // namespace loom
