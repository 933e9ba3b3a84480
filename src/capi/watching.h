#pragma once
// Who watches a session, a trainer or a mesh: a host's callback, windows of figures, a program that listens.

#include <array>
#include <memory>
#include <optional>

#include "telemetry/observer.h"

namespace loom::capi {

class Watching {
 public:
  enum class Role : std::uint8_t { layers, windows, reports };
  // Puts an observer in the place of the one that has the role; null: nobody has it.
  Result<void> set(Role role, const Network& network, std::unique_ptr<Observer> observer);
  // The network was given other layers.
  Result<void> renew(const Network& network);
  // The watch of the passes; null without observers.
  PassWatch* watch() const { return hub_.get(); }

 private:
  Result<void> rebuild(const Network& network, std::array<std::unique_ptr<Observer>, 3> observers);

  std::unique_ptr<ObserverHub> hub_;
  std::array<std::optional<std::size_t>, 3> numbers_;  // by role
};

}  // namespace loom::capi
