#pragma once
// Bounded queue of telemetry lines, and a background thread that delivers them. offer() never waits for the network:
// lines are dropped and counted when the queue is full.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/error.h"

namespace loom {

class LineQueue {
 public:
  // Calls deliver(line) on its own thread; false counts as a loss. Unsupported where there are no threads, OutOfMemory
  // when none starts.
  static Result<std::unique_ptr<LineQueue>> create(std::size_t capacity,
                                                   std::function<bool(const std::string&)> deliver);
  // Lines that still wait are dropped.
  ~LineQueue();

  bool offer(std::string line);
  // Waits until nothing is under way, at most that long; for ends of programs and for tests.
  bool drain(int milliseconds);
  std::uint64_t sent() const;
  // Number of lines that found the queue full or could not be delivered.
  std::uint64_t dropped() const;

 private:
  struct Shared;
  LineQueue() = default;
  std::unique_ptr<Shared> shared_;
};

}  // namespace loom
