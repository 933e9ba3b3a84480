#pragma once
// State of one user of a step mesh (engine M-01): the input port, the last output of every cell, recurrent states, the
// number of ticks and the last captured ticks. Made by StepMesh::create_state, advanced by the mesh. States of one mesh
// are independent.

#include <span>
#include <vector>

#include "core/sha256.h"
#include "layers/layer.h"
#include "network/mesh/step_history.h"

namespace loom {

class StepMesh;

class StepState {
 public:
  StepState(StepState&&) = default;
  StepState& operator=(StepState&&) = default;

  // Latches a copy of x, of the shape of the mesh's plan and its element type, until it is replaced or
  // cleared (`hold`) or for the next tick alone. ShapeMismatch, InvalidArgument.
  Result<void> set_input(const ConstView& x, bool hold = true);
  void clear_input() { port_ = Port::Absent; }

  // Last output of a cell, valid until the second commit from now. NoValue before data reached the cell, OutOfRange.
  Result<ConstView> output(std::size_t cell) const;
  Result<ConstView> output() const { return output(present_.size() - 1); }
  std::uint64_t step_count() const { return step_count_; }
  // Auxiliary loss of the gates in the last tick (engine V-37), cells ascending; a cell that waited counts with the
  // tick that made the output it keeps. 0 of a void state.
  double gate_loss() const;
  // Number of captured ticks that are available, without a gap up to the last one.
  std::size_t history() const { return history_.count(); }
  // A tick was computed and waits for commit().
  bool pending() const { return pending_; }
  const StepMesh& mesh() const { return *mesh_; }
  // Memories of the metacognition layers, by state slot.
  std::span<MetaState> metas() { return metas_; }
  // The mesh has taken a new plan without this state: InvalidState wherever it is used, an empty snapshot, a
  // hash of zeros, a gate loss of 0.
  bool is_void() const;

  // Everything as it was at the start: no input, no outputs, no history, step 0.
  void reset();

  // A copy that goes its own way. OutOfMemory.
  Result<StepState> fork() const;
  // Becomes a copy of another state of the same mesh, without allocating. InvalidArgument.
  Result<void> restore(const StepState& from);
  // Like fork(), as bytes that any machine reads, for a mesh of the same shapes: see docs/guide/step_mesh.md. restore()
  // checks all of them: CorruptData; Unsupported; ShapeMismatch for another mesh. After an error the state is as
  // reset() leaves it.
  std::vector<std::byte> snapshot() const;
  Result<void> restore(std::span<const std::byte> snapshot);
  // Hash of the whole state: equal states have equal hashes, on every machine.
  Digest hash() const;

 private:
  friend class StepMesh;
  enum class Port : std::uint8_t { Absent, Pulse, Hold };

  StepState() = default;
  template <class Archive>
  void visit(Archive& archive);
  template <class Archive>
  void visit_values(Archive& archive, std::span<std::uint8_t> which, std::size_t flip);
  template <class Archive>
  void visit_recurrent(Archive& archive, std::byte* block);
  template <class Archive>
  void visit_slot(Archive& archive, std::size_t index);
  std::byte* value(std::size_t cell, std::size_t half) const;
  std::byte* port() const { return base_; }
  std::byte* recurrent(std::size_t half) const;
  std::byte* gate(std::size_t cell, std::size_t half) const;
  // Calls f() with tensors that the host may read, and write where `writes`: between ticks.
  template <class F>
  void on_host(bool writes, F&& f);
  // The pending tick has written its slot of the history.
  bool pending_slot() const;
  void point_recurrent();

  const StepMesh* mesh_ = nullptr;
  std::uint64_t plan_ = 0;  // of the mesh, that it was made for
  // the port, two halves of values, two halves of recurrent states, two halves of what gates added to the loss by cell
  Memory memory_;
  std::byte* base_ = nullptr;  // of that, or of a copy that the host may touch
  StepHistory history_;
  Port port_ = Port::Absent;
  // by cell: it has an output; the half of the memory that holds the output and its gates' loss; the pending tick makes
  // a new one
  std::vector<std::uint8_t> present_, half_, wrote_;
  std::uint8_t recurrent_half_ = 0;
  std::vector<RecurrentState> recurrent_;         // by slot, those of the pending tick
  std::vector<MetaState> metas_, pending_metas_;  // by slot
  std::vector<ConstView> sources_;                // what links and skips read in this tick
  std::uint64_t step_count_ = 0;
  bool pending_ = false, captured_ = false;
};

}  // namespace loom
