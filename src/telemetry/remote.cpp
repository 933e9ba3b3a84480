#include "telemetry/remote.h"

#include <charconv>
#include <chrono>

#include "core/json.h"
#include "core/nearest.h"
#include "layers/share/share.h"
#include "telemetry/observers.h"

namespace loom {

Result<std::unique_ptr<HttpObserver>> HttpObserver::create(std::string_view url) {
  LOOM_TRY(HttpUrl to, parse_http_url(url));
  std::unique_ptr<HttpObserver> observer(new HttpObserver);
  LOOM_TRY(observer->queue_,
           LineQueue::create(kTelemetryQueue, [to](const std::string& body) { return http_post(to, body, kLimitMs); }));
  return observer;
}

Result<void> HttpObserver::observe(const LayerEvent& event) {
  queue_->offer(dump_json(event_json(event)));
  return {};
}

Result<std::unique_ptr<TanhiObserver>> TanhiObserver::create(const std::string& host, std::uint16_t port,
                                                             ClockNs clock) {
  std::unique_ptr<TanhiObserver> observer(new TanhiObserver);
  LOOM_TRY(observer->socket_, UdpSocket::create(host, port));
  LOOM_TRY(observer->queue_,
           LineQueue::create(kTelemetryQueue,
                             [to = observer->socket_.get()](const std::string& line) { return to->send(line); }));
  observer->clock_ = clock ? std::move(clock) : [] {
    return static_cast<std::int64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
  };
  observer->start_ = observer->clock_();
  return observer;
}

void TanhiObserver::begin(PassKind) {
  ended_.clear();
  last_ = clock_() - start_;
}

std::int64_t TanhiObserver::began(const LayerEvent& e) {
  const std::string_view path = e.path;
  std::int64_t from = last_;
  const auto take = [&] {
    from = ended_.back().second;
    ended_.pop_back();
  };
  // The operation that a link runs has ended just before the link itself: under the path of the cell that owns it,
  // which is another one or this one.
  const Share* const share = layer_as<Share>(*e.layer);
  if (share != nullptr && !ended_.empty() && (e.runs_target || ended_.back().first == path)) take();
  while (!ended_.empty() && ended_.back().first.size() > path.size() && ended_.back().first.starts_with(path) &&
         ended_.back().first[path.size()] == '.')
    take();
  ended_.emplace_back(path, from);
  return from;
}

namespace {

// Fields of a parallel container.
class ParallelKeys final : public QuietFieldVisitor {
 public:
  explicit ParallelKeys(const Layer& layer) { const_cast<Layer&>(layer).fields(*this); }  // only read
  std::string combine;
  std::size_t branches = 0;
  using QuietFieldVisitor::operator();
  void operator()(Key key, std::vector<LayerPtr>& children) override {
    if (split_names(key.names)[0] == "parallel_branches") branches = children.size();
  }

 protected:
  void choose(Key key, std::size_t& index, std::span<const std::string_view> names, Code) override {
    if (key.names == "combine_mode") combine = split_names(names[index])[0];
  }
};

}  // namespace

Result<void> TanhiObserver::observe(const LayerEvent& e) {
  const bool backward = e.pass == PassKind::Backward || e.pass == PassKind::Tween;
  const std::int64_t from = began(e), to = clock_() - start_;
  std::size_t weights = 0;
  const_cast<Layer*>(e.layer)->visit_all_weights([&](const Weight& w) { weights += w.elements(); });
  Json line{{"v", "tanhi1"},    {"seq", seq_++},          {"phase", backward ? "bwd" : "fwd"},
            {"idx", e.index},   {"z", e.cell.z},          {"y", e.cell.y},
            {"x", e.cell.x},    {"l", e.cell.l},          {"layer", e.layer_type},
            {"dtype", e.dtype}, {"connections", weights}, {"t0_ns", from},
            {"t1_ns", to}};
  Json shape = Json::array();
  for (const std::size_t extent : e.tensor.shape.extents()) shape.push_back(extent);
  line["shape"] = std::move(shape), line["label"] = e.path;
  if (const Share* share = layer_as<Share>(*e.layer)) {
    const auto& a = share->address();
    line["links"] = Json::array({Json::array({a[0], a[1], a[2], a[3]})});
  } else if (e.layer_type == "parallel") {
    const ParallelKeys keys(*e.layer);
    line["combine"] = keys.combine, line["branches"] = keys.branches;
  }
  queue_->offer(dump_json(line) + "\n");
  last_ = to;
  return {};
}

Result<std::unique_ptr<Observer>> remote_observer(std::string_view address) {
  constexpr std::string_view kTanhi = "tanhi://";
  if (!address.starts_with(kTanhi)) return HttpObserver::create(address);
  address.remove_prefix(kTanhi.size());
  const std::size_t colon = address.rfind(':');
  std::uint16_t port = TanhiObserver::kDefaultPort;
  if (colon != std::string_view::npos) {
    const std::string_view number = address.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), port);
    if (error != std::errc() || end != number.data() + number.size() || port == 0)
      return fail(Code::InvalidArgument, "tanhi://{}: expected tanhi://HOST:PORT", printable(address));
  }
  const std::string_view host = address.substr(0, colon);
  if (host.empty()) return fail(Code::InvalidArgument, "tanhi://{}: expected tanhi://HOST:PORT", printable(address));
  return TanhiObserver::create(std::string(host), port);
}

}  // namespace loom
