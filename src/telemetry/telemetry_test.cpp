// Observers, figures and audits (engine section 9.5).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/json.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "network/mesh/step_mesh.h"
#include "telemetry/adaptation.h"
#include "telemetry/audit.h"
#include "telemetry/blueprint.h"
#include "telemetry/deviation.h"
#include "telemetry/observers.h"
#include "telemetry/remote.h"

namespace loom {
namespace {

// Cells: dense, nothing, sequential of a dense and a parallel of two (one of them a link to cell 0), a disabled dense.
const std::string kSpec = R"({"id":"watched","depth":1,"rows":1,"cols":1,"layers_per_cell":4,"seed":5,"layers":[
  {"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":4,"output_height":4,"bias":true,"activation":"tanh"},
  {"z":0,"y":0,"x":0,"l":2,"type":"sequential","sequential_layers":[
    {"type":"rmsnorm","input_height":4},
    {"type":"parallel","combine_mode":"add","parallel_branches":[
      {"type":"dense","input_height":4,"output_height":4,"dtype":"int8"},
      {"is_remote_link":true,"target_l":0}]}]},
  {"z":0,"y":0,"x":0,"l":3,"type":"dense","input_height":4,"output_height":4,"is_disabled":true}]})";
const std::vector<std::string> kOrder = {"layers.0",
                                         "layers.2.sequential_layers.0",
                                         "layers.2.sequential_layers.1.parallel_branches.0",
                                         "layers.0",
                                         "layers.2.sequential_layers.1.parallel_branches.1",
                                         "layers.2.sequential_layers.1",
                                         "layers.2"};

struct Seen {
  std::vector<std::string> lines;
  std::vector<std::string> paths;
  std::vector<std::thread::id> threads;
};

class Recorder final : public Observer {
 public:
  explicit Recorder(Seen& seen, std::size_t fail_at = ~std::size_t{0}) : seen_(seen), fail_at_(fail_at) {}
  Result<void> observe(const LayerEvent& e) override {
    if (seen_.lines.size() == fail_at_) return fail(Code::IoError, "no more");
    seen_.lines.push_back(fmt::format("{} {} {} {} {} {} {}", name(e.mode), name(e.pass), e.path, e.layer_type, e.dtype,
                                      e.step_count, e.model_id));
    seen_.paths.emplace_back(e.path);
    seen_.threads.push_back(std::this_thread::get_id());
    EXPECT_EQ(e.stats.total, static_cast<double>(e.tensor.shape.elements()));
    double sum = 0;
    for (std::size_t i = 0; i < e.tensor.shape.elements(); ++i) sum += static_cast<double>(e.tensor.as()[i]);
    EXPECT_NEAR(e.stats.avg, sum / e.stats.total, 1e-6);
    return {};
  }

 private:
  Seen& seen_;
  std::size_t fail_at_;
};

Network watched() {
  auto spec = network_from_json(std::string_view(kSpec));
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().text());
  return std::move(spec->network);
}
const std::vector<float> kX = {1, -2, 3, 0.5f, -1, 2, 0, 1};

TEST(Telemetry, every_layer_that_ran_in_order_on_the_calling_thread) {  // E-40, G-88
  const Network network = watched();
  const auto session = NetworkSession::create(network, Shape::of({2, 4}), {3, std::nullopt, true}).value();
  const auto plain = session->forward({kX.data(), Shape::of({2, 4})}).value();
  const std::vector<float> expected(plain.as(), plain.as() + 8);
  const auto hub = ObserverHub::create(network).value();
  session->observe(hub.get());
  Seen seen;
  hub->add("recorder", std::make_unique<Recorder>(seen));
  PassExtras extras;
  extras.step = 17;
  const auto y = session->forward({kX.data(), Shape::of({2, 4})}, extras).value();
  EXPECT_EQ(std::vector<float>(y.as(), y.as() + 8), expected);
  EXPECT_EQ(seen.paths, kOrder);
  EXPECT_EQ(seen.lines[2], "plain forward layers.2.sequential_layers.1.parallel_branches.0 dense int8 17 watched");
  for (const auto thread : seen.threads) EXPECT_EQ(thread, std::this_thread::get_id());
  seen = {};
  ASSERT_TRUE(session->backward({kX.data(), Shape::of({2, 4})}));
  ASSERT_EQ(seen.paths.size(), kOrder.size());
  EXPECT_EQ(seen.paths.back(), "layers.0");
  EXPECT_EQ(seen.lines[0].substr(0, 14), "plain backward");
  session->observe(nullptr);
  seen = {};
  ASSERT_TRUE(session->forward({kX.data(), Shape::of({2, 4})}));
  EXPECT_TRUE(seen.lines.empty());
}

TEST(Telemetry, ticks_of_the_step_mesh) {  // E-40
  Network network = watched();
  const auto mesh = StepMesh::create(network, Shape::of({2, 4}), {.threads = 4}).value();
  StepState state = mesh->create_state().value(), unseen = mesh->create_state().value();
  const auto hub = ObserverHub::create(network).value();
  Seen seen;
  const std::size_t number = hub->add("recorder", std::make_unique<Recorder>(seen));
  for (StepState* s : {&state, &unseen}) ASSERT_TRUE(s->set_input({kX.data(), Shape::of({2, 4})}));
  for (int t = 0; t < 6; ++t) ASSERT_TRUE(mesh->step(unseen));
  mesh->watch(hub.get());
  for (int t = 0; t < 6; ++t) {
    seen = {};
    ASSERT_TRUE(mesh->step(state));
    // Cell 2 starts two ticks after cell 0: cell 1, which is empty, takes one.
    EXPECT_EQ(seen.paths, t < 2 ? std::vector<std::string>{"layers.0"} : kOrder) << t;
    EXPECT_EQ(seen.lines[0], fmt::format("step tick layers.0 dense float32 {} watched", t));
  }
  EXPECT_EQ(state.hash(), unseen.hash());
  hub->remove(number);
  seen = {};
  ASSERT_TRUE(mesh->step(state));
  EXPECT_TRUE(seen.lines.empty());
}

// The links that have run another cell's operation, by path.
class LinksSeen final : public Observer {
 public:
  explicit LinksSeen(std::vector<std::string>& paths) : paths_(paths) {}
  Result<void> observe(const LayerEvent& e) override {
    if (e.runs_target) paths_.emplace_back(e.path);
    return {};
  }

 private:
  std::vector<std::string>& paths_;
};

// Each session has a plan of its own.
TEST(Telemetry, LinksAreThoseOfThePlanThatRuns) {
  const Network network = std::move(network_from_json(std::string_view(kSpec))->network);
  const Shape shape = Shape::of({2, 4});
  const std::vector<std::string> expected = {"layers.2.sequential_layers.1.parallel_branches.1"};
  std::vector<std::string> paths;
  const auto hub = ObserverHub::create(network).value();
  hub->add("links", std::make_unique<LinksSeen>(paths));
  const auto session = NetworkSession::create(network, shape, {.threads = 1, .backward = true}).value();
  session->observe(hub.get());
  ASSERT_TRUE(session->forward({kX.data(), shape}));
  EXPECT_EQ(paths, expected);
  paths.clear();
  ASSERT_TRUE(session->backward({kX.data(), shape}));
  EXPECT_EQ(paths, expected);
  const auto mesh = StepMesh::create(network, shape, {.threads = 1}).value();
  StepState state = mesh->create_state().value();
  ASSERT_TRUE(state.set_input({kX.data(), shape}));
  mesh->watch(hub.get());
  paths.clear();
  for (int t = 0; t < 4; ++t) ASSERT_TRUE(mesh->step(state));
  EXPECT_EQ(paths, (std::vector<std::string>{expected[0], expected[0]}));  // cell 2 starts two ticks after cell 0
}

TEST(Telemetry, an_observer_that_fails_is_detached_and_reported) {  // E-40
  const Network network = watched();
  const auto session = NetworkSession::create(network, Shape::of({2, 4}), {1, std::nullopt, false}).value();
  const auto hub = ObserverHub::create(network).value();
  Seen bad, good;
  hub->add("bad", std::make_unique<Recorder>(bad, 3));
  hub->add("good", std::make_unique<Recorder>(good));
  session->observe(hub.get());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(session->forward({kX.data(), Shape::of({2, 4})}));
  EXPECT_EQ(bad.lines.size(), 3u);
  EXPECT_EQ(good.lines.size(), 2 * kOrder.size());
  ASSERT_EQ(hub->detached().size(), 1u);
  EXPECT_EQ(hub->detached()[0].name, "bad");
  EXPECT_EQ(hub->detached()[0].error.message, "no more");
}

TEST(Telemetry, console_and_windows) {  // E-40
  const Network network = watched();
  const auto session = NetworkSession::create(network, Shape::of({2, 4}), {1, std::nullopt, false}).value();
  const auto hub = ObserverHub::create(network).value();
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  hub->add("console", std::make_unique<ConsoleObserver>(file));
  std::vector<WindowFigures> windows;
  auto aggregating = std::make_unique<AggregatingObserver>(4, [&](const WindowFigures& w) -> Result<void> {
    windows.push_back(w);
    return {};
  });
  AggregatingObserver* const aggregate = aggregating.get();
  hub->add("windows", std::move(aggregating));
  session->observe(hub.get());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(session->forward({kX.data(), Shape::of({2, 4})}));
  std::rewind(file);
  std::size_t lines = 0;
  char line[512];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (lines++ == 2) {
      EXPECT_EQ(std::string(line).substr(0, 64), "forward 0 layers.2.sequential_layers.1.parallel_branches.0 dense");
    }
  }
  std::fclose(file);
  EXPECT_EQ(lines, 14u);
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(aggregate->current().events, 2u);
  for (const WindowFigures& w : windows) {
    EXPECT_EQ(w.events, 4u);
    EXPECT_LE(w.min, w.avg);
    EXPECT_GE(w.max, w.avg);
    EXPECT_NEAR(w.sparsity, 1 - w.active / 8, 1e-12);
  }
}

TEST(Telemetry, figures_of_a_window_by_hand) {  // E-40
  WindowFigures full;
  AggregatingObserver o(2, [&](const WindowFigures& w) -> Result<void> {
    full = w;
    return {};
  });
  LayerEvent e;
  e.stats = {1, 2, 5, -3, 6, 8}, e.step_count = 4;
  ASSERT_TRUE(o.observe(e));
  e.stats = {3, 4, 4, -7, 0, 8}, e.step_count = 5;
  ASSERT_TRUE(o.observe(e));
  EXPECT_EQ(full.avg, 2);
  EXPECT_EQ(full.std, 3);
  EXPECT_EQ(full.max, 5);
  EXPECT_EQ(full.min, -7);
  EXPECT_EQ(full.active, 3);
  EXPECT_EQ(full.sparsity, 1 - 6.0 / 16);
  EXPECT_EQ(full.first_step, 4u);
  EXPECT_EQ(full.last_step, 5u);
  AggregatingObserver fails(1, [](const WindowFigures&) -> Result<void> { return fail(Code::IoError, "sink"); });
  EXPECT_FALSE(fails.observe(e));
}

// A socket of this machine that something can be sent to.
class Local {
 public:
  explicit Local(int type) : handle_(socket(AF_INET, type, 0)) {
    sockaddr_in a{};
    a.sin_family = AF_INET, a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(handle_, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
    socklen_t size = sizeof a;
    EXPECT_EQ(getsockname(handle_, reinterpret_cast<sockaddr*>(&a), &size), 0);
    port = ntohs(a.sin_port);
    if (type == SOCK_STREAM) {
      EXPECT_EQ(listen(handle_, 64), 0);
    }
  }
  ~Local() { close(handle_); }
  std::string receive() const {
    pollfd p{handle_, POLLIN, 0};
    if (poll(&p, 1, 5000) != 1) return "";
    char bytes[65536];
    const auto n = recv(handle_, bytes, sizeof bytes, 0);
    return {bytes, n > 0 ? static_cast<std::size_t>(n) : 0};
  }
  // Takes one request, answers, and returns its body.
  std::string serve(const char* answer) const {
    const int peer = accept(handle_, nullptr, nullptr);
    std::string request;
    char bytes[4096];
    for (std::size_t want = ~std::size_t{0}; request.size() < want;) {
      const auto n = recv(peer, bytes, sizeof bytes, 0);
      if (n <= 0) break;
      request.append(bytes, static_cast<std::size_t>(n));
      const auto head = request.find("\r\n\r\n"), length = request.find("Content-Length: ");
      if (head != request.npos) want = head + 4 + std::stoul(request.substr(length + 16));
    }
    (void)!send(peer, answer, std::strlen(answer), MSG_NOSIGNAL);  // who has given up is gone
    close(peer);
    return request.substr(request.find("\r\n\r\n") + 4);
  }
  std::uint16_t port = 0;

 private:
  int handle_;
};

TEST(Telemetry, tanhi_lines) {  // E-44
  const Local local(SOCK_DGRAM);
  const Network network = watched();
  const auto session = NetworkSession::create(network, Shape::of({2, 4}), {1, std::nullopt, true}).value();
  const auto hub = ObserverHub::create(network).value();
  std::int64_t now = 1000;
  auto made = TanhiObserver::create("127.0.0.1", local.port, [&] { return now += 10; }).value();
  TanhiObserver* const tanhi = made.get();
  hub->add("tanhi", std::move(made));
  session->observe(hub.get());
  ASSERT_TRUE(session->forward({kX.data(), Shape::of({2, 4})}));
  ASSERT_TRUE(session->backward({kX.data(), Shape::of({2, 4})}));
  std::vector<Json> lines;
  for (int i = 0; i < 14; ++i) {
    const std::string text = local.receive();
    ASSERT_FALSE(text.empty()) << i;
    EXPECT_EQ(text.back(), '\n');
    lines.push_back(parse_json(text).value());
  }
  EXPECT_EQ(
      dump_json(lines[0]),
      R"({"v":"tanhi1","seq":0,"phase":"fwd","idx":0,"z":0,"y":0,"x":0,"l":0,"layer":"dense","dtype":"float32","connections":20,"t0_ns":10,)"
      R"("t1_ns":20,"shape":[2,4],"label":"layers.0"})");
  const Json& parallel = lines[5];
  EXPECT_EQ(*as_string(parallel["layer"]), "parallel");
  EXPECT_EQ(*as_string(parallel["combine"]), "add");
  EXPECT_EQ(*as_int(parallel["branches"]), 2);
  EXPECT_EQ(*as_int(parallel["t0_ns"]), 30);  // began with its first branch
  EXPECT_EQ(dump_json(lines[4]["links"]), "[[0,0,0,0]]");
  EXPECT_EQ(*as_int(lines[6]["t0_ns"]), 20);  // the sequence, with its norm
  EXPECT_EQ(*as_string(lines[7]["phase"]), "bwd");
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(*as_int(lines[i]["seq"]), static_cast<std::int64_t>(i));
  EXPECT_TRUE(tanhi->queue().drain(60000));
  EXPECT_EQ(tanhi->queue().sent(), 14u);
  EXPECT_EQ(tanhi->queue().dropped(), 0u);
  EXPECT_EQ(TanhiObserver::kDefaultPort, 17481);
}

TEST(Telemetry, a_full_queue_drops_and_never_blocks) {  // E-44
  std::atomic<bool> open{false};
  const auto queue = LineQueue::create(kTelemetryQueue, [&](const std::string&) {
                       while (!open) std::this_thread::yield();
                       return true;
                     }).value();
  std::size_t taken = 0;
  for (int i = 0; i < 3000; ++i) taken += queue->offer("line");
  EXPECT_GE(taken, kTelemetryQueue);
  EXPECT_LE(taken, kTelemetryQueue + 1);  // one may be on its way
  EXPECT_EQ(queue->dropped(), 3000 - taken);
  EXPECT_FALSE(queue->drain(1));
  open = true;
  EXPECT_TRUE(queue->drain(60000));
  EXPECT_EQ(queue->sent(), taken);
}

TEST(Telemetry, http_posts_and_gives_up_after_100_ms) {  // E-40
  const Local local(SOCK_STREAM);
  const auto observer = HttpObserver::create(fmt::format("http://127.0.0.1:{}/events", local.port)).value();
  LayerEvent e;
  e.path = "layers.0", e.layer_type = "dense", e.dtype = "float32", e.model_id = "m";
  e.stats.avg = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t late = 0;  // on a busy machine this thread may answer after the 100 ms
  for (;; ++late) {
    ASSERT_LT(late, 100u);
    ASSERT_TRUE(observer->observe(e));
    const Json body = parse_json(local.serve("HTTP/1.1 204 No Content\r\n\r\n")).value();
    EXPECT_EQ(*as_string(body["path"]), "layers.0");
    EXPECT_EQ(*as_string(body["stats"]["avg"]), "NaN");
    ASSERT_TRUE(observer->queue().drain(60000));
    if (observer->queue().sent() == 1) break;
  }
  EXPECT_EQ(observer->queue().dropped(), late);
  ASSERT_TRUE(observer->observe(e));
  local.serve("HTTP/1.1 500 Internal Server Error\r\n\r\n");
  ASSERT_TRUE(observer->queue().drain(60000));
  EXPECT_EQ(observer->queue().dropped(), late + 1);
  // Nobody answers: the host does not wait for the 100 ms. The least of several, for another program may have the
  // processor meanwhile.
  auto least = std::chrono::steady_clock::duration::max();
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(observer->observe(e));
    least = std::min(least, std::chrono::steady_clock::now() - start);
    ASSERT_TRUE(observer->queue().drain(60000));
    EXPECT_EQ(observer->queue().dropped(), late + 2 + i);
  }
  EXPECT_LT(least, std::chrono::milliseconds(50));
  for (const char* bad : {"", "ftp://a", "http://", "http://a:0/", "http://a:99999", "http://a b/", "http://:80"})
    EXPECT_EQ(parse_http_url(bad).error().code, Code::InvalidArgument) << bad;
  EXPECT_EQ(parse_http_url("https://a/").error().code, Code::Unsupported);
}

TEST(Telemetry, blueprint_counts_nested_weights) {  // E-41
  const Network network = watched();
  EXPECT_FALSE(blueprint(network).layers[0].output) << "no plan knows it";
  const NetworkBlueprint b = blueprint(network, {ForwardPlan::create(network, Shape::of({2, 4})).value()});
  ASSERT_EQ(b.layers.size(), 7u);
  std::size_t weights = 0, bytes = 0;
  network.visit_weights(
      [&](const std::string&, const Weight& w, const Layer&) { weights += w.elements(), bytes += w.resident_bytes(); });
  EXPECT_EQ(b.parameters, weights);
  EXPECT_EQ(b.bytes, bytes);
  EXPECT_EQ(b.layers[0].parameters, 20u);
  EXPECT_EQ(b.layers[1].path, "layers.2");
  EXPECT_EQ(b.layers[1].parameters, 0u);
  EXPECT_EQ(b.layers[1].total_parameters, 4u + 16u);
  EXPECT_EQ(b.layers[1].output->text(), "[2, 4]");
  EXPECT_EQ(b.layers[4].path, "layers.2.sequential_layers.1.parallel_branches.0");
  EXPECT_EQ(b.layers[4].dtype, "int8");
  EXPECT_EQ(b.layers[4].depth, 2u);
  EXPECT_EQ(b.layers[5].kind, "link");
  EXPECT_EQ(b.layers[5].parameters, 0u);
  EXPECT_TRUE(b.layers[6].disabled);
  EXPECT_EQ(*as_int(to_json(b)["layers"][0]["weights"][0]["parameters"]), 16);
  EXPECT_EQ(*as_string(to_json(b)["layers"][0]["weights"][0]["shape"]), "[4, 4]");
}

TEST(Telemetry, deviation_by_hand) {  // E-42
  EXPECT_EQ(DeviationMetrics::deviation(11, 10), 10);
  EXPECT_EQ(DeviationMetrics::deviation(-5, 10), 150);
  EXPECT_EQ(DeviationMetrics::deviation(0.25, 0), 25);
  EXPECT_EQ(DeviationMetrics::deviation(0, 0), 0);
  DeviationMetrics m;
  EXPECT_EQ(m.score(), 0);
  for (const double actual : {100.0, 109.0, 110.0, 75.0, 135.0, 145.0, 150.0, 10.0, 200.0, 350.0}) m.add(actual, 100);
  const std::uint64_t expected[] = {2, 1, 1, 1, 1, 2, 2};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(m.bucket(i), expected[i]) << DeviationMetrics::kBuckets[i];
  EXPECT_NEAR(m.score(), (100 + 91 + 90 + 75 + 65 + 55 + 50 + 10 + 0 + 0) / 10.0, 1e-9);
  EXPECT_NEAR(m.mean_deviation(), (0 + 9 + 10 + 25 + 35 + 45 + 50 + 90 + 100 + 250) / 10.0, 1e-9);
  m.add(std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_EQ(m.bucket(6), 3u);
  EXPECT_TRUE(std::isfinite(m.mean_deviation()));
  const float a[] = {1, 2}, e[] = {1};
  EXPECT_EQ(m.add(a, e).error().code, Code::ShapeMismatch);
}

TEST(Telemetry, recovery_with_an_injected_clock) {  // E-43, G-88
  double now = 5000;
  auto made = AdaptationTracker::create(100, 1000, [&] { return now; }, "chase");
  ASSERT_TRUE(made);
  AdaptationTracker& t = *made;
  // Ten outputs a window, `right` of them correct; window 6 has none.
  const int right[] = {10, 10, 8, 9, 2, 4, 0, 7, 9, 10};
  for (int w = 0; w < 10; ++w) {
    if (w == 4) t.mark_task_change("avoid");
    for (int i = 0; i < 10; ++i) {
      now = 5000 + w * 100 + i * 10;
      if (w != 6) t.record(i < right[w]);
    }
    now = 5000 + (w + 1) * 100;
  }
  t.finish();
  ASSERT_EQ(t.windows().size(), 10u);
  EXPECT_EQ(t.windows()[2].accuracy, 80);
  EXPECT_EQ(t.windows()[2].outputs_per_sec, 100);
  EXPECT_EQ(t.windows()[3].task, "chase");
  EXPECT_EQ(t.windows()[4].task, "avoid");
  const auto changes = t.changes();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].at_ms, 400);
  EXPECT_NEAR(changes[0].accuracy_before, 90, 1e-9);  // of windows 1, 2, 3
  EXPECT_EQ(changes[0].recovery_ms, 500);             // window 8: 90 % >= 81 %
  EXPECT_EQ(changes[0].recovery_outputs, 40);
  EXPECT_NEAR(t.throughput(), 90, 1e-9);
  EXPECT_EQ(t.availability(), 90);
  EXPECT_NEAR(t.accuracy(), 69 / 0.9, 1e-9);
  EXPECT_NEAR(t.score(), 90 * 90 * (69 / 0.9) / 10000, 1e-9);
  t.record(true);  // beyond the total
  EXPECT_EQ(t.outputs(), 90u);
}

TEST(Telemetry, no_recovery_and_changes_inside_a_window) {  // E-43
  double now = 0;
  AdaptationTracker t = AdaptationTracker::create(100, 500, [&] { return now; }).value();
  for (; now < 150; now += 10) t.record(true);
  t.mark_task_change("b");
  for (; now < 500; now += 10) t.record(now < 190);  // the window of the change does not count
  t.finish();
  ASSERT_EQ(t.changes().size(), 1u);
  EXPECT_EQ(t.changes()[0].recovery_ms, -1);
  EXPECT_EQ(t.changes()[0].recovery_outputs, -1);
  EXPECT_EQ(t.changes()[0].accuracy_before, 100);
  EXPECT_FALSE(AdaptationTracker::create(0, 100, [] { return 0.0; }));
  EXPECT_FALSE(AdaptationTracker::create(1, 1e9, [] { return 0.0; }));
  EXPECT_FALSE(AdaptationTracker::create(1, 100, {}));
}

TEST(Telemetry, audit_tells_addresses_only_when_asked) {  // E-45, G-89
  const Json plain = system_audit();
  for (const char* key : {"os", "cpu", "caches", "memory", "gpus", "disks", "isas"})
    EXPECT_TRUE(plain.contains(key)) << key;
  EXPECT_FALSE(plain.contains("network"));
  const Json all = system_audit({.include_network = true});
  ASSERT_TRUE(all.contains("network"));
  bool loopback = false;
  const std::string text = dump_json(plain);
  for (const Json& i : all["network"]) {
    for (const Json& a : i["addresses"]) {
      loopback |= *as_string(a) == "127.0.0.1";
      EXPECT_EQ(text.find(*as_string(a)), text.npos);
    }
    if (const std::string& mac = *as_string(i["mac"]); !mac.empty()) {
      EXPECT_EQ(text.find(mac), text.npos);
    }
  }
  EXPECT_TRUE(loopback);
}

}  // namespace
}  // namespace loom
