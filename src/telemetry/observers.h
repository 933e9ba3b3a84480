#pragma once
// Observers that print and that sum up (engine E-40).

#include <cstdio>
#include <functional>

#include "telemetry/observer.h"

namespace loom {

// A line per event: "tick 12 layers.3 dense float32 [1, 64] avg 0.01 std 0.2 min -1 max 1 active 64/64".
class ConsoleObserver final : public Observer {
 public:
  explicit ConsoleObserver(std::FILE* to) : to_(to) {}
  // IoError when the stream does not take it.
  Result<void> observe(const LayerEvent& event) override;

 private:
  std::FILE* to_;
};

// Figures of a window of events.
struct WindowFigures {
  std::size_t events = 0;
  double avg = 0, std = 0;  // means over the events
  double max = 0, min = 0;  // over all
  double active = 0;        // mean number of active elements
  double sparsity = 0;      // share of elements that are not active
  std::uint64_t first_step = 0, last_step = 0;
};

class AggregatingObserver final : public Observer {
 public:
  // `sink` receives every full window of `window` events (at least 1); its error detaches the observer.
  AggregatingObserver(std::size_t window, std::function<Result<void>(const WindowFigures&)> sink)
      : window_(window < 1 ? 1 : window), sink_(std::move(sink)) {}
  Result<void> observe(const LayerEvent& event) override;
  // Figures of the current, not yet full window.
  WindowFigures current() const;

 private:
  std::size_t window_;
  std::function<Result<void>(const WindowFigures&)> sink_;
  WindowFigures sums_;
  double total_ = 0;
};

// One event as the JSON object that the HTTP observer posts. Figures that are not finite are the texts of engine S-06.
Json event_json(const LayerEvent& event);

}  // namespace loom
