// Events of layers that a host of loom.h gets; and single parts of networks.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <loom/loom.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "capi/capi_test.h"
#include "core/json.h"
#include "support/files.h"

namespace loom::capi_watching_test {
namespace {

using test::Batch;
using test::sized;
using test::take;
using test::tensor_of;

// Large enough that threads divide its products; a container with children.
const std::string kSpec = R"({"seed":7,"input_shape":[96],"layers":[
  {"type":"dense","input_height":96,"output_height":200,"activation":"tanh","bias":true},
  {"type":"sequential","sequential_layers":[{"type":"dense","input_height":200,"output_height":64},
    {"type":"dense","input_height":64,"output_height":10}]}]})";
constexpr std::uint64_t kShape[] = {300, 96};

loom_network network_of(const std::string& spec = kSpec) {
  loom_network n = 0;
  EXPECT_EQ(loom_network_from_json(spec.data(), spec.size(), nullptr, &n), LOOM_OK) << loom_last_error();
  return n;
}
loom_network_session session_of(loom_network network, bool backward = false) {
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_network_session_options>();
  options.compute = &compute;
  compute.thread_count = 2, options.backward = backward ? 1 : 0;
  loom_network_session s = 0;
  EXPECT_EQ(loom_network_session_create(network, &options, &s), LOOM_OK) << loom_last_error();
  return s;
}
std::vector<float> wave(std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<int>(i * 7919 % 201) - 100) / 100.0f;
  return out;
}
std::vector<float> forward(loom_network_session session) {
  const std::vector<float> x = wave(300 * 96);
  loom_tensor y;
  EXPECT_EQ(test::forward(session, x, {300, 96}, y), LOOM_OK) << loom_last_error();
  return test::values_of(y);
}

// A host that keeps the events.
struct Host {
  struct Event {
    std::string event, path, layer, dtype;
    std::uint64_t cell, active, count;
    double mean, deviation, greatest, least;
    std::vector<float> values;
    std::thread::id thread;
  };
  std::vector<Event> events;
  std::size_t enough = ~std::size_t{0};
  std::int32_t last_answer = 0;

  static std::int32_t take(void* user, const loom_layer_event* e) {
    constexpr const char* kPasses[] = {"forward", "backward", "tick", "tween"};
    auto& host = *static_cast<Host*>(user);
    EXPECT_EQ(e->struct_size, sizeof *e);
    EXPECT_EQ(e->values->element, LOOM_ELEMENT_FLOAT32);
    const std::size_t count = e->values->data_size / sizeof(float);
    std::uint64_t elements = 1;
    for (std::size_t i = 0; i < e->values->shape_count; ++i) elements *= e->values->shape[i];
    EXPECT_EQ(elements, count);
    const auto* const numbers = static_cast<const float*>(e->values->data);
    host.events.push_back({kPasses[e->pass],
                           e->path,
                           e->layer,
                           e->dtype,
                           e->cell,
                           e->active,
                           count,
                           e->mean,
                           e->deviation,
                           e->greatest,
                           e->least,
                           {numbers, numbers + count},
                           std::this_thread::get_id()});
    return host.events.size() < host.enough ? 1 : host.last_answer;
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> out;
    for (const Event& e : events) out.push_back(e.event + " " + e.path);
    return out;
  }
};
const std::vector<std::string> kForward = {"forward layers.0", "forward layers.1.sequential_layers.0",
                                           "forward layers.1.sequential_layers.1", "forward layers.1"};

TEST(CapiWatching, a_host_sees_every_layer_of_a_session_and_changes_no_bit) {  // E-40
  const loom_network network = network_of();
  const loom_network_session plain = session_of(network), watched = session_of(network, true);
  Host host;
  ASSERT_EQ(loom_network_session_watch(watched, Host::take, &host), LOOM_OK) << loom_last_error();
  const std::vector<float> y = forward(watched);
  EXPECT_EQ(y, forward(plain));
  EXPECT_EQ(host.paths(), kForward);
  const Host::Event& last = host.events.back();
  EXPECT_EQ(last.values, y);
  EXPECT_EQ(last.cell, 1u);
  EXPECT_EQ(last.layer, "sequential");
  EXPECT_EQ(last.dtype, "float32");
  EXPECT_EQ(last.thread, std::this_thread::get_id());
  EXPECT_EQ(last.count, y.size());
  EXPECT_EQ(last.greatest, static_cast<double>(*std::ranges::max_element(y)));
  EXPECT_EQ(last.least, static_cast<double>(*std::ranges::min_element(y)));
  double sum = 0;
  for (const float v : y) sum += static_cast<double>(v);
  EXPECT_NEAR(last.mean, sum / static_cast<double>(y.size()), 1e-6);  // sums of f32 in lanes
  EXPECT_GT(last.deviation, 0);
  EXPECT_EQ(last.active,
            static_cast<std::uint64_t>(std::ranges::count_if(y, [](float v) { return std::abs(v) > 1e-6f; })));

  host.events.clear();
  const std::vector<float> dy(y.size(), 1);
  loom_tensor dx;
  ASSERT_EQ(test::backward(watched, dy, dx), LOOM_OK) << loom_last_error();
  ASSERT_EQ(host.events.size(), 4u);
  EXPECT_EQ(host.paths().back(), "backward layers.0");
  EXPECT_EQ(host.events.back().values, test::values_of(dx));

  host.events.clear();
  ASSERT_EQ(loom_network_session_watch(watched, nullptr, nullptr), LOOM_OK);
  forward(watched);
  EXPECT_TRUE(host.events.empty());
  host.enough = 2;
  ASSERT_EQ(loom_network_session_watch(watched, Host::take, &host), LOOM_OK);
  forward(watched);
  forward(watched);
  EXPECT_EQ(host.events.size(), 2u);  // its answer 0 has ended the watch
  for (const loom_handle handle : {plain, watched, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

TEST(CapiWatching, a_watch_outlasts_a_change_of_the_network) {  // E-40
  const loom_network network = network_of();
  const loom_network_session session = session_of(network);
  Host host;
  ASSERT_EQ(loom_network_session_watch(session, Host::take, &host), LOOM_OK);
  forward(session);
  const std::uint64_t address[] = {0, 0, 0, 1};
  const std::string layer = R"({"type":"dense","input_height":200,"output_height":3})";
  ASSERT_EQ(loom_network_place(network, address, 4, layer.data(), layer.size()), LOOM_OK) << loom_last_error();
  host.events.clear();
  EXPECT_EQ(forward(session).size(), 900u);
  EXPECT_EQ(host.paths(), (std::vector<std::string>{"forward layers.0", "forward layers.1"}));
  EXPECT_EQ(host.events.back().layer, "dense");
  for (const loom_handle handle : {session, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

struct Windows {
  std::vector<std::uint64_t> layers;
  double greatest = 0;
  static std::int32_t take(void* user, const loom_window_event* e) {
    auto& host = *static_cast<Windows*>(user);
    host.layers.push_back(e->layers);
    host.greatest = e->greatest;
    EXPECT_TRUE(e->sparsity >= 0 && e->sparsity < 1) << e->sparsity;
    return 1;
  }
};

TEST(CapiWatching, AnAnswerThatIsNeither0Nor1FailsThePass) {
  const loom_network network = network_of();
  const loom_network_session session = session_of(network);
  Host host;
  host.enough = 1, host.last_answer = 7;
  ASSERT_EQ(loom_network_session_watch(session, Host::take, &host), LOOM_OK);
  const std::vector<float> x = wave(300 * 96);
  loom_tensor y;
  const auto run = [&] { return test::forward(session, x, {300, 96}, y); };
  EXPECT_EQ(run(), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "the callback on_layer returned 7: expected 1 to continue or 0 to stop");
  EXPECT_EQ(y.data, nullptr);
  EXPECT_EQ(host.events.size(), 1u);
  EXPECT_EQ(run(), LOOM_OK);  // the watch has ended
  EXPECT_EQ(host.events.size(), 1u);
  for (const loom_handle handle : {session, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

TEST(CapiWatching, windows_sum_up_so_many_layers) {  // E-40
  const loom_network network = network_of();
  const loom_network_session session = session_of(network);
  Windows windows;
  Host host;
  EXPECT_EQ(loom_network_session_watch_windows(session, 0, Windows::take, &windows), LOOM_INVALID_ARGUMENT);
  ASSERT_EQ(loom_network_session_watch_windows(session, 3, Windows::take, &windows), LOOM_OK);
  ASSERT_EQ(loom_network_session_watch(session, Host::take, &host), LOOM_OK);  // beside it
  for (int i = 0; i < 3; ++i) forward(session);
  EXPECT_EQ(windows.layers, (std::vector<std::uint64_t>{3, 3, 3, 3}));
  EXPECT_EQ(host.events.size(), 12u);
  double greatest = -1e30;
  for (std::size_t i = 9; i < 12; ++i) greatest = std::max(greatest, host.events[i].greatest);
  EXPECT_EQ(windows.greatest, greatest);
  for (const loom_handle handle : {session, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

TEST(CapiWatching, a_trainer_is_watched_and_learns_the_same) {  // E-40
  const std::string config = R"({"loss":"mse","optimizer":"sgd","learning_rate":0.01})";
  const std::vector<float> x = wave(300 * 96), t(300 * 10, 0.5f);
  std::vector<std::string> hashes;
  Host host;
  Windows windows;
  for (const bool watches : {false, true}) {
    const loom_network network = network_of();
    loom_trainer trainer = 0;
    ASSERT_EQ(loom_trainer_create(network, config.data(), config.size(), kShape, 2, nullptr, &trainer), LOOM_OK)
        << loom_last_error();
    if (watches) {
      ASSERT_EQ(loom_trainer_watch(trainer, Host::take, &host), LOOM_OK) << loom_last_error();
      ASSERT_EQ(loom_trainer_watch_windows(trainer, 8, Windows::take, &windows), LOOM_OK) << loom_last_error();
    }
    const Batch batch(x, kShape, t);
    auto step = sized<loom_training_step>();
    ASSERT_EQ(loom_trainer_step(trainer, batch.get(), 0, &step), LOOM_OK) << loom_last_error();
    loom_blob hash = 0;
    ASSERT_EQ(loom_network_hash(network, &hash), LOOM_OK);
    hashes.push_back(take(hash));
    for (const loom_handle handle : {trainer, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  const std::vector<std::string> paths = host.paths();
  EXPECT_TRUE(std::ranges::find(paths, "forward layers.1") != paths.end());
  EXPECT_TRUE(std::ranges::find(paths, "backward layers.0") != paths.end());
  EXPECT_EQ(host.events.size() / 8, windows.layers.size());
}

TEST(CapiWatching, shards_that_run_side_by_side_have_no_order) {  // E-40
  const loom_network network = network_of();
  const std::string config = R"({"loss":"mse","optimizer":"sgd","learning_rate":0.01,"shards":4,"workers":2})";
  auto options = sized<loom_compute_options>();
  options.thread_count = 2;
  loom_trainer trainer = 0;
  ASSERT_EQ(loom_trainer_create(network, config.data(), config.size(), kShape, 2, &options, &trainer), LOOM_OK)
      << loom_last_error();
  Host host;
  EXPECT_EQ(loom_trainer_watch(trainer, Host::take, &host), LOOM_UNSUPPORTED);
  for (const loom_handle handle : {trainer, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

TEST(CapiWatching, ticks_of_a_mesh_are_told) {  // E-40
  const loom_network network = network_of();
  loom_step_mesh mesh = 0;
  ASSERT_EQ(loom_step_mesh_create(network, kShape, 2, nullptr, &mesh), LOOM_OK) << loom_last_error();
  loom_step_state state = 0;
  ASSERT_EQ(loom_step_state_create(mesh, &state), LOOM_OK);
  const std::vector<float> x = wave(300 * 96);
  const loom_tensor input = tensor_of(x);
  ASSERT_EQ(loom_step_state_set_input(state, &input, 1), LOOM_OK);
  Host host;
  ASSERT_EQ(loom_step_mesh_watch(mesh, Host::take, &host), LOOM_OK) << loom_last_error();
  Windows windows;
  EXPECT_EQ(loom_step_mesh_watch_windows(mesh, 0, Windows::take, &windows), LOOM_INVALID_ARGUMENT);
  ASSERT_EQ(loom_step_mesh_watch_windows(mesh, 2, Windows::take, &windows), LOOM_OK) << loom_last_error();
  for (int tick = 0; tick < 2; ++tick) ASSERT_EQ(loom_step_mesh_step(mesh, &state, 1, nullptr), LOOM_OK);
  const std::vector<std::string> paths = host.paths();
  EXPECT_EQ(windows.layers, std::vector<std::uint64_t>(host.events.size() / 2, 2));
  EXPECT_FALSE(windows.layers.empty());
  EXPECT_TRUE(std::ranges::find(paths, "tick layers.1") != paths.end());
  ASSERT_EQ(loom_step_mesh_watch(mesh, nullptr, nullptr), LOOM_OK);
  host.events.clear();
  ASSERT_EQ(loom_step_mesh_step(mesh, &state, 1, nullptr), LOOM_OK);
  EXPECT_TRUE(host.events.empty());
  for (const loom_handle handle : {state, mesh, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

TEST(CapiWatching, reports_reach_a_program_that_listens) {  // E-44
  const int listener = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET, a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
  socklen_t size = sizeof a;
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&a), &size), 0);
  const std::string address = "tanhi://127.0.0.1:" + std::to_string(ntohs(a.sin_port));
  const loom_network network = network_of();
  const loom_network_session session = session_of(network);
  ASSERT_EQ(loom_network_session_report_to(session, address.c_str()), LOOM_OK) << loom_last_error();
  forward(session);
  for (const std::string& path : kForward) {
    pollfd p{listener, POLLIN, 0};
    ASSERT_EQ(poll(&p, 1, 5000), 1) << path;
    char bytes[65536];
    const auto n = recv(listener, bytes, sizeof bytes, 0);
    ASSERT_GT(n, 0);
    const Json line = parse_json(std::string_view(bytes, static_cast<std::size_t>(n))).value();
    EXPECT_EQ("forward " + line["label"].get<std::string>(), path);
    EXPECT_EQ(line["phase"], "fwd");
  }
  ASSERT_EQ(loom_network_session_report_to(session, nullptr), LOOM_OK);
  forward(session);
  pollfd p{listener, POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, 200), 0);
  for (const char* const wrong : {"", "tanhi://", "tanhi://:1", "tanhi://127.0.0.1:x", "tanhi://127.0.0.1:70000",
                                  "tanhi://127.0.0.1:0", "ftp://127.0.0.1/x", "http://"})
    EXPECT_EQ(loom_network_session_report_to(session, wrong), LOOM_INVALID_ARGUMENT) << wrong;
  for (const loom_handle handle : {session, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
  close(listener);
}

TEST(CapiWatching, adaptation_is_measured_by_the_clock) {  // E-43
  loom_adaptation adaptation = 0;
  EXPECT_EQ(loom_adaptation_create(0, 1000, "a", &adaptation), LOOM_INVALID_ARGUMENT);
  ASSERT_EQ(loom_adaptation_create(20, 1000, "a", &adaptation), LOOM_OK) << loom_last_error();
  for (int i = 0; i < 10; ++i) ASSERT_EQ(loom_adaptation_record(adaptation, i % 2), LOOM_OK);
  ASSERT_EQ(loom_adaptation_mark(adaptation, "b"), LOOM_OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  loom_blob blob = 0;
  ASSERT_EQ(loom_adaptation_info(adaptation, &blob), LOOM_OK);
  const Json info = parse_json(take(blob)).value();
  EXPECT_EQ(info["outputs"], 10);
  EXPECT_EQ(info["accuracy"], 50);
  EXPECT_GE(info["windows"].size(), 2u);
  EXPECT_EQ(info["changes"][0]["task"], "b");
  EXPECT_EQ(loom_release(adaptation), LOOM_OK);
}

// ---- parts of networks ----

TEST(CapiPieces, cells_have_numbers_and_layers) {  // V-01
  const loom_network network = network_of();
  const std::uint64_t second[] = {0, 0, 0, 1}, outside[] = {0, 0, 0, 2};
  std::uint64_t index = 0;
  ASSERT_EQ(loom_network_index(network, second, 4, &index), LOOM_OK) << loom_last_error();
  EXPECT_EQ(index, 1u);
  EXPECT_NE(loom_network_index(network, outside, 4, &index), LOOM_OK);
  EXPECT_EQ(loom_network_index(network, second, 3, &index), LOOM_INVALID_ARGUMENT);
  loom_blob blob = 0;
  ASSERT_EQ(loom_network_layer(network, second, 4, &blob), LOOM_OK) << loom_last_error();
  const std::string layer = take(blob);
  EXPECT_EQ(parse_json(layer).value()["type"], "sequential") << layer;
  ASSERT_EQ(loom_network_place(network, second, 4, layer.data(), layer.size()), LOOM_OK) << loom_last_error();
  ASSERT_EQ(loom_network_place(network, second, 4, nullptr, 0), LOOM_OK);
  EXPECT_EQ(loom_network_layer(network, second, 4, &blob), LOOM_NOT_FOUND);
  ASSERT_EQ(loom_network_blueprint(network, &blob), LOOM_OK);
  EXPECT_EQ(parse_json(take(blob)).value()["layers"][0]["parameters"], 96 * 200 + 200);
  EXPECT_EQ(loom_release(network), LOOM_OK);
}

TEST(CapiPieces, numbers_become_what_a_type_makes_of_them) {  // D-01
  const std::vector<float> x = wave(4096);
  std::vector<float> y(x.size()), z(x.size());
  const auto simulate = [&](const char* dtype, std::uint64_t columns, const std::vector<float>& from,
                            std::vector<float>& to) {
    return loom_dtype_simulate(from.data(), from.size(), columns, dtype, to.data(), to.size());
  };
  ASSERT_EQ(simulate("float32", 0, x, y), LOOM_OK) << loom_last_error();
  EXPECT_EQ(y, x);
  for (const char* const dtype : {"int8", "bfloat16", "float16", "ternary"}) {
    ASSERT_EQ(simulate(dtype, 64, x, y), LOOM_OK) << dtype << ": " << loom_last_error();
    EXPECT_NE(y, x) << dtype;
  }
  ASSERT_EQ(simulate("int8", 64, x, y), LOOM_OK);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 0.5 / 127 + 1e-6) << i;  // half a step
  EXPECT_EQ(simulate("int8", 63, x, y), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(simulate("int3", 64, x, y), LOOM_UNKNOWN_NAME);
  z.resize(7);
  EXPECT_EQ(simulate("int8", 64, x, z), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(simulate("q4_0", 64, x, y), LOOM_INVALID_ARGUMENT);
}

TEST(CapiPieces, models_that_complete_each_other_are_found) {  // E-31
  const std::string right(
      "\1\1\0\0"
      "\0\1\1\1"
      "\1\0\0\0",
      12);
  loom_blob blob = 0;
  ASSERT_EQ(loom_matches_find(right.data(), right.size(), 3, 0.9, &blob), LOOM_OK) << loom_last_error();
  const Json found = parse_json(take(blob)).value();
  ASSERT_EQ(found.size(), 2u) << dump_json(found);
  EXPECT_EQ(found[0].dump(), R"({"a":1,"b":2,"coverage":1.0,"overlap":0.0,"cosine":0.0})");
  EXPECT_EQ(found[1].dump(), R"({"a":0,"b":1,"coverage":1.0,"overlap":0.25,"cosine":0.40824829046386296})");
  EXPECT_EQ(loom_matches_find(right.data(), right.size(), 5, 0.9, &blob), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(loom_matches_find(right.data(), 0, 3, 0.9, &blob), LOOM_EMPTY_TENSOR);
}

}  // namespace
}  // namespace loom::capi_watching_test
