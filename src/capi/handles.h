#pragma once
// Handles of the C ABI are numbers. Each names a slot of one table, the slot's generation and the kind of the object. A
// handle that was released, made up or is of another kind is found out by comparing numbers; no memory of the caller's
// is trusted.
//
//   bits 0..31 slot, 32..55 generation (from 1 on), 56..63 kind

#include <loom/loom.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/error.h"
#include "core/process.h"

namespace loom::capi {

enum class Kind : std::uint8_t {
  None = LOOM_KIND_NONE,
  Blob = LOOM_KIND_BLOB,
  Cancel = LOOM_KIND_CANCEL,
  Threads = LOOM_KIND_THREADS,
  Tokenizer = LOOM_KIND_TOKENIZER,
  Model = LOOM_KIND_MODEL,
  Session = LOOM_KIND_SESSION,
  Generator = LOOM_KIND_GENERATOR,
  Network = LOOM_KIND_NETWORK,
  NetworkSession = LOOM_KIND_NETWORK_SESSION,
  Trainer = LOOM_KIND_TRAINER,
  StepMesh = LOOM_KIND_STEP_MESH,
  StepState = LOOM_KIND_STEP_STATE,
  Tween = LOOM_KIND_TWEEN,
  MeshTween = LOOM_KIND_MESH_TWEEN,
  Population = LOOM_KIND_POPULATION,
  Chat = LOOM_KIND_CHAT,
  Replica = LOOM_KIND_REPLICA,
  Graph = LOOM_KIND_GRAPH,
  GraphSession = LOOM_KIND_GRAPH_SESSION,
  Encoder = LOOM_KIND_ENCODER,
  Adaptation = LOOM_KIND_ADAPTATION,
  Layer = LOOM_KIND_LAYER,
  Judge = LOOM_KIND_JUDGE,
};

// Object of a handle. Others that were made from it share it, so that it outlives its handle.
struct Object : std::enable_shared_from_this<Object> {
  Object() = default;
  Object(const Object&) = delete;
  virtual ~Object() = default;
  std::atomic<bool> busy{false};  // a call changes it
  const std::uint32_t process = process_generation();
};

// An object that a call works with: it stays alive until the call ends, whoever releases its handle meanwhile.
class Pin {
 public:
  Pin(std::uint32_t slot, Object* object) : slot_(slot), object_(object) {}
  Pin(Pin&& other) noexcept : slot_(other.slot_), object_(std::exchange(other.object_, nullptr)) {}
  Pin& operator=(Pin&&) = delete;
  ~Pin();
  Object& object() const { return *object_; }

 private:
  std::uint32_t slot_;
  Object* object_;
};

// OutOfMemory when all slots are taken.
Result<std::uint64_t> add_object(Kind kind, std::shared_ptr<Object> object);
// BadHandle, in this function and those below, for a handle that does not stand for a living object (of that kind).
Result<void> retain(std::uint64_t handle);
Result<void> release(std::uint64_t handle);
Result<Kind> kind_of(std::uint64_t handle);
Result<Pin> pin(std::uint64_t handle, Kind kind);
// InvalidState in a child after fork() for an object with threads, which are the parent's; the child can release it.
Result<void> need_threads(const Object& object, Kind kind);

template <class T, class... Args>
Result<std::uint64_t> make_handle(Args&&... args) {
  return add_object(T::kKind, std::make_shared<T>(std::forward<Args>(args)...));
}

// A pinned T, for calls that only read it. T::kKind says what its handles are called.
template <class T>
class Use {
 public:
  static Result<Use> of(std::uint64_t handle) {
    LOOM_TRY(Pin pinned, pin(handle, T::kKind));
    LOOM_TRY_VOID(need_threads(pinned.object(), T::kKind));
    return Use(std::move(pinned));
  }
  T* operator->() const { return static_cast<T*>(&pin_.object()); }
  std::shared_ptr<T> shared() const { return std::static_pointer_cast<T>(pin_.object().shared_from_this()); }

 private:
  explicit Use(Pin pin) : pin_(std::move(pin)) {}
  Pin pin_;
};

// Keeps other calls from an object while one changes it. Busy when another call has it.
class Turn {
 public:
  static Result<Turn> of(Object& object, const char* what) {
    if (object.busy.exchange(true, std::memory_order_acquire))
      return fail(Code::Busy, "the {} is in use by another call", what);
    return Turn(&object);
  }
  Turn(Turn&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (object_ != nullptr) object_->busy.store(false, std::memory_order_release);
  }

 private:
  explicit Turn(Object* object) : object_(object) {}
  Object* object_;
};

// The object of a handle, for a call that changes it.
template <class T>
struct Taken {
  Use<T> use;
  Turn turn;
  T* operator->() const { return use.operator->(); }
};
template <class T>
Result<Taken<T>> take(std::uint64_t handle, const char* what) {
  LOOM_TRY(auto use, Use<T>::of(handle));
  LOOM_TRY(Turn turn, Turn::of(*use.operator->(), what));
  return Taken<T>{std::move(use), std::move(turn)};
}

}  // namespace loom::capi
