#pragma once
// Texts on their way out of a pass: a bounded queue and a thread that delivers them. offer() never waits for the network: what finds the
// queue full is dropped and counted.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/error.h"

namespace loom {

class LineQueue {
 public:
  // Calls deliver(line) on its own thread; false counts as a loss. Unsupported where there are no threads, OutOfMemory when none starts.
  static Result<std::unique_ptr<LineQueue>> create(std::size_t capacity, std::function<bool(const std::string&)> deliver);
  // Lines that still wait are dropped.
  ~LineQueue();

  bool offer(std::string line);
  // Waits until nothing is under way, at most that long; for ends of programs and for tests.
  bool drain(int milliseconds);
  std::uint64_t sent() const;
  // Those that found the queue full or could not be delivered.
  std::uint64_t dropped() const;

 private:
  struct Shared;
  LineQueue() = default;
  std::unique_ptr<Shared> shared_;
};

}  // namespace loom
