#pragma once
// Layer kinds that a host registers (docs/internals/adding.md, "A layer kind of your own"). A foreign kind is a
// description, and callbacks that declare weights and call ops on references to tensors (foreign_pass.h). All networks
// of the process share one list; built-in kinds come first, so that no name of theirs changes its meaning.

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.h"
#include "layers/fields.h"
#include "layers/kind.h"

namespace loom {

class ForeignPass;

// The value of a setting: the member of its type counts.
struct ForeignValue {
  std::size_t whole = 0;  // of a choice: its index
  double number = 0;
  bool flag = false;
  Activation activation = Activation::Linear;
  bool operator==(const ForeignValue&) const = default;
};

struct ForeignSetting {
  enum class Type : std::uint8_t { Integer, Number, Boolean, Choice, Activation } type = Type::Integer;
  std::string key, help;
  SizeRange sizes;      // of an integer
  NumberRange numbers;  // of a number
  std::vector<std::string> choices;
  ForeignValue standard;  // may lie outside the range: a key that has to be given
};

struct ForeignDescription {
  std::string name, help, shapes, width_key;
  std::size_t sample_axes = 0;  // Layer::sample_rank()
  std::vector<ForeignSetting> settings;

  // {"name", "help", "shapes", "width_key", "sample_axes", "settings": [{"key", "type", "default", "min", "max",
  // "choices", "help"}]}. InvalidConfig, UnknownKey, UnknownName with the place inside of the text.
  static Result<ForeignDescription> read(const Json& description);
};

// What the host's side does. Each may be called by several threads at the same time.
struct ForeignCallbacks {
  using Callback = std::function<Result<void>(ForeignPass& pass)>;
  Callback declare;  // may be empty: no weights
  Callback forward;
  Callback backward;  // may be empty: a kind that only infers
};

struct ForeignKind : LayerKind {
  ForeignKind(ForeignDescription given, ForeignCallbacks calls);
  ForeignKind(const ForeignKind&) = delete;

  const ForeignDescription description;
  const ForeignCallbacks callbacks;
  std::vector<std::vector<std::string_view>> choices;  // by setting
  mutable std::atomic<bool> registered{true};
  mutable std::atomic<std::size_t> layers{0};  // that live; begun by count_layer()
};

// InvalidArgument for a name or key that is none ([a-z][a-z0-9_]*) or is there already, a built-in kind's included.
Result<void> add_foreign_kind(ForeignDescription description, ForeignCallbacks callbacks);
// From then on no callback of the kind is called. UnknownName; InvalidState while a layer of the kind lives.
Result<void> remove_foreign_kind(std::string_view name);
// A layer of the kind begins to live; false: the kind was removed.
bool count_layer(const ForeignKind& kind);
// Null: none of that name is registered, case, '_' and '-' aside.
const LayerKind* find_foreign_kind(std::string_view name);
// Those that are registered now. A row stays where it is until the process ends.
std::vector<const LayerKind*> foreign_kinds();

}  // namespace loom
