#include "telemetry/observers.h"

#include "core/json.h"

#include <algorithm>
#include <cmath>

namespace loom {
namespace {

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

}  // namespace

Result<void> ConsoleObserver::observe(const LayerEvent& e) {
  const std::string line =
      fmt::format("{} {} {} {} {} {} avg {:.6g} std {:.6g} min {:.6g} max {:.6g} active {:.0f}/{:.0f}\n", name(e.pass),
                  e.step_count, e.path, e.layer_type, e.dtype, e.tensor.shape.text(), e.stats.avg, e.stats.std,
                  e.stats.min, e.stats.max, e.stats.active, e.stats.total);
  if (std::fwrite(line.data(), 1, line.size(), to_) != line.size())
    return fail(Code::IoError, "console observer: the stream does not take a line");
  return {};
}

Result<void> AggregatingObserver::observe(const LayerEvent& e) {
  if (sums_.events == 0) {
    sums_ = {}, total_ = 0;
    sums_.max = e.stats.max, sums_.min = e.stats.min, sums_.first_step = e.step_count;
  }
  ++sums_.events;
  sums_.avg += e.stats.avg, sums_.std += e.stats.std, sums_.active += e.stats.active, total_ += e.stats.total;
  sums_.max = std::max(sums_.max, e.stats.max), sums_.min = std::min(sums_.min, e.stats.min);
  sums_.last_step = e.step_count;
  if (sums_.events < window_) return {};
  const WindowFigures full = current();
  sums_ = {};
  return sink_(full);
}

WindowFigures AggregatingObserver::current() const {
  WindowFigures w = sums_;
  if (w.events == 0) return w;
  const auto n = static_cast<double>(w.events);
  w.sparsity = total_ > 0 ? 1 - w.active / total_ : 0;
  w.avg /= n, w.std /= n, w.active /= n;
  return w;
}

Json event_json(const LayerEvent& e) {
  return Json{{"mode", name(e.mode)},
              {"type", name(e.pass)},
              {"z", e.cell.z},
              {"y", e.cell.y},
              {"x", e.cell.x},
              {"l", e.cell.l},
              {"path", e.path},
              {"layer_type", e.layer_type},
              {"dtype", e.dtype},
              {"shape", e.tensor.shape.text()},
              {"stats", Json{{"avg", number(e.stats.avg)},
                             {"std", number(e.stats.std)},
                             {"max", number(e.stats.max)},
                             {"min", number(e.stats.min)},
                             {"active", e.stats.active},
                             {"total", e.stats.total}}},
              {"step_count", e.step_count},
              {"model_id", e.model_id}};
}

}  // namespace loom
