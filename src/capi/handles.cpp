#include "capi/handles.h"

#include <vector>

#include "core/mutex.h"

namespace loom::capi {
namespace {

// By number of the kind.
constexpr const char* kKindNames[] = {
    "an object",    "a blob",      "a cancel",        "threads",           "a tokenizer",   "a model",
    "a session",    "a generator", "a network",       "a network session", "a trainer",     "a step mesh",
    "a step state", "a tween",     "a mesh tween",    "a population",      "a chat",        "a replica",
    "a layer",      "a graph",     "a graph session", "an encoder",        "an adaptation", "a judge"};
static_assert(std::size(kKindNames) == LOOM_KIND_JUDGE + 1, "a new kind needs its name");

constexpr std::size_t kPageSlots = 1024, kPages = 1024;
constexpr std::uint64_t kGenerations = std::uint64_t{1} << 24;

// `word` holds all that decides whether a slot may be used, so that one compare-and-swap settles it:
//   bits 0..19 calls that use the object now, 20..39 owners, 40..63 generation
struct Slot {
  std::atomic<std::uint64_t> word{std::uint64_t{1} << 40};
  std::atomic<Kind> kind{Kind::None};
  std::shared_ptr<Object> object;
};
constexpr std::uint64_t kOnePin = 1, kOneOwner = std::uint64_t{1} << 20, kCountMask = kOneOwner - 1;
std::uint64_t pins_of(std::uint64_t word) { return word & kCountMask; }
std::uint64_t owners_of(std::uint64_t word) { return word >> 20 & kCountMask; }
std::uint64_t generation_of(std::uint64_t word) { return word >> 40; }

// It is never destroyed: threads of the host may call while the process ends.
struct Table {
  std::atomic<Slot*> pages[kPages]{};
  Mutex mutex;  // of what follows
  std::uint32_t used = 0;
  std::vector<std::uint32_t> free;
};
Table& table() {
  static Table* const t = [] {
    auto* const made = new Table;
    // The table's lock is free in a child, whatever another thread of the parent was doing.
    guard_over_fork([] { table().mutex.lock(); }, [] { table().mutex.unlock(); });
    return made;
  }();
  return *t;
}

Slot* find_slot(std::uint32_t index) {
  if (index >= kPageSlots * kPages) return nullptr;
  Slot* const page = table().pages[index / kPageSlots].load(std::memory_order_acquire);
  return page == nullptr ? nullptr : page + index % kPageSlots;
}

Slot& slot_at(std::uint32_t index) { return *find_slot(index); }

std::uint64_t handle_of(Kind kind, std::uint64_t generation, std::uint32_t index) {
  return static_cast<std::uint64_t>(kind) << 56 | generation << 32 | index;
}
Kind named_kind(std::uint64_t handle) { return static_cast<Kind>(handle >> 56); }
std::uint64_t named_generation(std::uint64_t handle) { return handle >> 32 & (kGenerations - 1); }

// A kind that was made up has no name.
const char* kind_name(Kind kind) {
  const auto k = static_cast<std::size_t>(kind);
  return kKindNames[k < std::size(kKindNames) ? k : 0];
}

tl::unexpected<Error> bad(std::uint64_t handle, Kind wanted) {
  const char* const what = kind_name(wanted);
  if (handle == 0) return fail(Code::BadHandle, "expected the handle of {}, got 0", what);
  const auto kind = static_cast<std::size_t>(named_kind(handle));
  if (kind == 0 || kind >= std::size(kKindNames))
    return fail(Code::BadHandle, "expected a handle, got {:#x}, which is none", handle);
  if (wanted != Kind::None && named_kind(handle) != wanted)
    return fail(Code::BadHandle, "expected the handle of {}, got that of {}", what, kKindNames[kind]);
  return fail(Code::BadHandle, "the handle {:#x} of {} was released, has too many owners or was never made", handle,
              kKindNames[kind]);
}

// Changes the counts of a living object by `more`; null when the handle stands for none.
Slot* change(std::uint64_t handle, std::uint64_t more, std::uint64_t full) {
  Slot* const slot = find_slot(static_cast<std::uint32_t>(handle));
  if (slot == nullptr) return nullptr;
  std::uint64_t word = slot->word.load(std::memory_order_acquire);
  for (;;) {
    if (generation_of(word) != named_generation(handle) || owners_of(word) == 0) return nullptr;
    if ((word & full) == full) return nullptr;  // a million owners or calls: a host in a loop
    if (slot->word.compare_exchange_weak(word, word + more, std::memory_order_acq_rel)) break;
  }
  return slot;
}

// Without owners and calls the object ends and its slot is free for another generation.
void end_object(Slot& slot, std::uint32_t index, std::uint64_t word) {
  const std::shared_ptr<Object> object = std::move(slot.object);
  slot.kind.store(Kind::None, std::memory_order_relaxed);
  const std::uint64_t next = generation_of(word) + 1;
  slot.word.store(next << 40, std::memory_order_release);
  if (next == kGenerations - 1) return;  // the slot has used all its generations
  Table& t = table();
  const Mutex::Guard lock(t.mutex);
  t.free.push_back(index);
}

}  // namespace

Pin::~Pin() {
  if (object_ == nullptr) return;
  Slot& slot = slot_at(slot_);
  const std::uint64_t word = slot.word.fetch_sub(kOnePin, std::memory_order_acq_rel) - kOnePin;
  if (pins_of(word) == 0 && owners_of(word) == 0) end_object(slot, slot_, word);
}

Result<std::uint64_t> add_object(Kind kind, std::shared_ptr<Object> object) {
  Table& t = table();
  std::uint32_t index = 0;
  {
    const Mutex::Guard lock(t.mutex);
    if (!t.free.empty()) {
      index = t.free.back();
      t.free.pop_back();
    } else {
      if (t.used == kPageSlots * kPages)
        return fail(Code::OutOfMemory, "{} handles are held: does the host release them?", t.used);
      std::atomic<Slot*>& page = t.pages[t.used / kPageSlots];
      if (page.load(std::memory_order_relaxed) == nullptr) page.store(new Slot[kPageSlots], std::memory_order_release);
      t.free.reserve(t.used + 1);  // so that the end of an object needs no memory
      index = t.used++;
    }
  }
  Slot& slot = slot_at(index);
  slot.object = std::move(object);
  slot.kind.store(kind, std::memory_order_relaxed);
  const std::uint64_t word = slot.word.fetch_add(kOneOwner, std::memory_order_release);
  return handle_of(kind, generation_of(word), index);
}

Result<void> retain(std::uint64_t handle) {
  LOOM_TRY(const Kind kind, kind_of(handle));
  if (change(handle, kOneOwner, kCountMask << 20) == nullptr) return bad(handle, kind);
  return {};
}

Result<void> release(std::uint64_t handle) {
  LOOM_TRY(const Pin pinned, pin(handle, named_kind(handle)));  // so that the object ends after this call, with the pin
  Slot& slot = slot_at(static_cast<std::uint32_t>(handle));
  std::uint64_t word = slot.word.load(std::memory_order_acquire);
  do {
    if (owners_of(word) == 0) return bad(handle, named_kind(handle));  // another thread was faster
  } while (!slot.word.compare_exchange_weak(word, word - kOneOwner, std::memory_order_acq_rel));
  return {};
}

Result<Kind> kind_of(std::uint64_t handle) {
  const Kind kind = named_kind(handle);
  if (kind == Kind::None) return bad(handle, Kind::None);
  LOOM_TRY(const Pin pinned, pin(handle, kind));
  return kind;
}

Result<Pin> pin(std::uint64_t handle, Kind kind) {
  if (named_kind(handle) != kind || kind == Kind::None) return bad(handle, kind);
  Slot* const slot = change(handle, kOnePin, kCountMask);
  if (slot == nullptr) return bad(handle, kind);
  Pin pinned(static_cast<std::uint32_t>(handle), slot->object.get());
  if (slot->kind.load(std::memory_order_relaxed) != kind) return bad(handle, Kind::None);  // a kind that was made up
  return pinned;
}

Result<void> need_threads(const Object& object, Kind kind) {
  if (object.process == process_generation()) return {};
  switch (kind) {
    case Kind::Blob:
    case Kind::Cancel:
    case Kind::Tokenizer:
    case Kind::Model:
    case Kind::Network:
    case Kind::Graph:
    case Kind::Adaptation: return {};
    default:
      return fail(Code::InvalidState, "{} was made before fork(), its threads are the parent's: make a new one",
                  kind_name(kind));
  }
}

}  // namespace loom::capi
