#pragma once
// Observers that send events away: HTTP (engine E-40) and TANHI (E-44). Both are off until one is created. A pass only
// writes a text and puts it into a queue of 1024; a thread sends it, and what does not fit or does not arrive is
// counted as dropped.

#include "telemetry/line_queue.h"
#include "telemetry/observer.h"
#include "telemetry/socket.h"

namespace loom {

inline constexpr std::size_t kTelemetryQueue = 1024;

// Posts event_json() of every event, one request each, at most 100 ms from connecting to the answer's status.
class HttpObserver final : public Observer {
 public:
  static constexpr int kLimitMs = 100;
  // InvalidArgument, Unsupported.
  static Result<std::unique_ptr<HttpObserver>> create(std::string_view url);
  Result<void> observe(const LayerEvent& event) override;
  LineQueue& queue() { return *queue_; }

 private:
  HttpObserver() = default;
  std::unique_ptr<LineQueue> queue_;
};

// One JSON line in one datagram per layer: v "tanhi1", seq, phase "fwd" or "bwd", idx (flat), z, y, x, l, layer, dtype,
// connections (its weights), t0_ns and t1_ns (since the observer was made: from the end of the layer before it, a
// container's from its first child's, to its own end), shape, label (its path); links (path of the target), combine and
// branches of parallel containers where there are such.
class TanhiObserver final : public Observer {
 public:
  static constexpr std::uint16_t kDefaultPort = 17481;
  // Nanoseconds that never go back; absent: the system's.
  using ClockNs = std::function<std::int64_t()>;
  static Result<std::unique_ptr<TanhiObserver>> create(const std::string& host = "127.0.0.1",
                                                       std::uint16_t port = kDefaultPort, ClockNs clock = {});
  Result<void> observe(const LayerEvent& event) override;
  void begin(PassKind kind) override;
  LineQueue& queue() { return *queue_; }

 private:
  TanhiObserver() = default;
  // Returns when a layer began, which is when the layer before it ended.
  std::int64_t began(const LayerEvent& event);

  std::unique_ptr<UdpSocket> socket_;
  std::unique_ptr<LineQueue> queue_;  // stops before the socket goes
  ClockNs clock_;
  std::int64_t start_ = 0, last_ = 0;
  std::uint64_t seq_ = 0;
  // layers of this pass that no container has taken, and when they began
  std::vector<std::pair<std::string, std::int64_t>> ended_;
};

// The observer that sends to "http://HOST:PORT/PATH" or "tanhi://HOST:PORT", whose port may be left out.
// InvalidArgument for other addresses; errors of the two.
Result<std::unique_ptr<Observer>> remote_observer(std::string_view address);

}  // namespace loom
