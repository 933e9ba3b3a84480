// Hooks of loom.h: every failure is reported, every byte of tensors goes through the host's functions and comes back, a
// refusal at any point is OUT_OF_MEMORY and loses nothing. Objects in a child after fork().

#include <gtest/gtest.h>
#include <loom/loom.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "capi/capi_test.h"
#include "core/error.h"
#include "core/mutex.h"
#include "support/files.h"

namespace loom::hooks_test {
namespace {

// Memory of the host, which counts and refuses from the n-th request on. Threads that load a model ask it side by side.
struct Host {
  Mutex mutex;
  std::map<void*, std::size_t> held;
  long requests = 0, refuse_at = -1;
  std::size_t bytes = 0;

  static void* allocate(void* user, std::size_t bytes, std::size_t alignment) {
    auto& host = *static_cast<Host*>(user);
    const Mutex::Guard lock(host.mutex);
    if (host.refuse_at >= 0 && host.requests++ >= host.refuse_at) return nullptr;
    void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    std::memset(memory, 0xa5, bytes);  // the library has to clear it
    host.held[memory] = bytes;
    host.bytes += bytes;
    return memory;
  }
  static void free(void* user, void* memory, std::size_t bytes) {
    auto& host = *static_cast<Host*>(user);
    const Mutex::Guard lock(host.mutex);
    const auto found = host.held.find(memory);
    ASSERT_TRUE(found != host.held.end());
    EXPECT_EQ(found->second, bytes);
    host.held.erase(found);
    std::free(memory);
  }
};

std::string model_path() { return test::source_path("tests/golden/models/llama2_untied"); }

// Loads a model and a network, runs both; the status of what failed first, and the bits of the last row of logits.
loom_status run_all(std::string* bits) {
  loom_model model = 0;
  loom_session session = 0, network_session = 0;
  loom_network network = 0;
  const std::vector<std::int32_t> ids = {3, 4, 5};
  const float* out = nullptr;
  std::size_t count = 0;
  const std::string spec = R"({"seed":7,"input_shape":[4],"layers":[{"type":"dense","input_height":4,)"
                           R"("output_height":6,"activation":"relu"}]})";
  const float input[4] = {1, 2, 3, 4};
  const std::uint64_t shape[2] = {1, 4};
  loom_model_options own{};
  own.struct_size = sizeof own;
  const std::vector<std::function<loom_status()>> steps = {
      [&] { return loom_model_open(model_path().c_str(), &own, &model); },
      [&] { return loom_session_create(model, nullptr, &session); },
      [&] { return loom_session_feed(session, 0, ids.data(), ids.size(), 0, &out, &count); },
      [&] {
        bits->assign(reinterpret_cast<const char*>(out), count * sizeof(float));
        return loom_network_from_json(spec.data(), spec.size(), nullptr, &network);
      },
      [&] { return loom_network_session_create(network, nullptr, &network_session); },
      [&] {
        const loom_tensor x = test::tensor_of(input, 4, shape, 2);
        auto y = test::sized<loom_tensor>();
        return loom_network_session_forward(network_session, &x, nullptr, &y);
      }};
  loom_status status = LOOM_OK;
  for (const auto& step : steps)
    if ((status = step()) != LOOM_OK) break;
  for (const loom_handle handle : {session, model, network_session, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
  return status;
}

TEST(CapiHooks, memory_of_tensors_comes_from_the_host_and_goes_back) {
  std::string plain, hosted;
  ASSERT_EQ(run_all(&plain), LOOM_OK) << loom_last_error();
  Host host;
  EXPECT_EQ(loom_set_memory(Host::allocate, nullptr, &host), LOOM_INVALID_ARGUMENT);
  ASSERT_EQ(loom_set_memory(Host::allocate, Host::free, &host), LOOM_OK);
  ASSERT_EQ(run_all(&hosted), LOOM_OK) << loom_last_error();
  EXPECT_GT(host.bytes, 200000u);
  EXPECT_TRUE(host.held.empty());
  EXPECT_EQ(hosted, plain);  // memory that is not zero changes no bit

  // Memory that was taken from a hook goes back to it, also when another one is set by then.
  loom_model model = 0;
  ASSERT_EQ(loom_model_open(model_path().c_str(), nullptr, &model), LOOM_OK);
  EXPECT_FALSE(host.held.empty());
  ASSERT_EQ(loom_set_memory(nullptr, nullptr, nullptr), LOOM_OK);
  EXPECT_EQ(loom_release(model), LOOM_OK);
  EXPECT_TRUE(host.held.empty());
}

TEST(CapiHooks, a_refusal_at_any_point_is_out_of_memory_and_loses_nothing) {
  int refused = 0;
  for (long n = 0;; ++n) {
    Host host;
    host.refuse_at = n;
    ASSERT_EQ(loom_set_memory(Host::allocate, Host::free, &host), LOOM_OK);
    std::string bits;
    const loom_status status = run_all(&bits);
    EXPECT_TRUE(host.held.empty()) << "after refusal " << n;
    if (status == LOOM_OK) break;
    EXPECT_EQ(status, LOOM_OUT_OF_MEMORY) << n << ": " << loom_last_error();
    ++refused;
    ASSERT_LT(n, 10000);
  }
  EXPECT_EQ(loom_set_memory(nullptr, nullptr, nullptr), LOOM_OK);
  EXPECT_GT(refused, 10);
}

// A plan for another shape that memory runs out for: neither the old plan nor half of the new one is used later.
TEST(CapiHooks, a_graph_session_goes_on_after_a_refusal_at_any_point) {
  const test::TempFolder folder;
  const std::string path = folder / "n.onnx";
  const std::string spec =
      R"({"seed":7,"input_shape":[64],"layers":[{"type":"dense","input_height":64,)"
      R"("output_height":96,"activation":"tanh"},{"type":"dense","input_height":96,"output_height":8}]})";
  loom_network network = 0;
  loom_blob blob = 0;
  ASSERT_EQ(loom_network_from_json(spec.data(), spec.size(), nullptr, &network), LOOM_OK);
  ASSERT_EQ(loom_network_export(network, path.c_str(), nullptr, &blob), LOOM_OK) << loom_last_error();
  ASSERT_EQ(loom_release(blob), LOOM_OK);
  loom_graph graph = 0;
  loom_graph_session session = 0;
  ASSERT_EQ(loom_graph_open(path.c_str(), nullptr, &graph), LOOM_OK);
  ASSERT_EQ(loom_graph_session_create(graph, nullptr, &session), LOOM_OK);
  std::vector<float> x(300 * 64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 16;
  const auto run = [&](std::uint64_t rows) {
    const std::uint64_t shape[] = {rows, 64};
    const loom_tensor given = test::tensor_of(x.data(), rows * 64, shape, 2);
    EXPECT_EQ(loom_graph_session_bind(session, nullptr, &given), LOOM_OK) << loom_last_error();
    return loom_graph_session_run(session, 0);
  };
  const auto hash = [&] {
    EXPECT_EQ(loom_graph_session_hash(session, &blob), LOOM_OK) << loom_last_error();
    return test::take(blob);
  };
  ASSERT_EQ(run(300), LOOM_OK) << loom_last_error();
  const std::string large = hash();
  ASSERT_EQ(run(2), LOOM_OK);
  const std::string small = hash();
  std::vector<std::unique_ptr<Host>> hosts;  // memory that the session keeps goes back to the one that gave it
  int refused = 0;
  for (long n = 0;; ++n) {
    ASSERT_EQ(run(2), LOOM_OK);
    hosts.push_back(std::make_unique<Host>());
    hosts.back()->refuse_at = n;
    ASSERT_EQ(loom_set_memory(Host::allocate, Host::free, hosts.back().get()), LOOM_OK);
    loom_graph_session fresh = 0;  // one without memory of before
    ASSERT_EQ(loom_graph_session_create(graph, nullptr, &fresh), LOOM_OK);
    std::swap(fresh, session);
    const loom_status status = run(300);
    hosts.back()->refuse_at = -1;
    if (status != LOOM_OK) {
      EXPECT_EQ(status, LOOM_OUT_OF_MEMORY) << n << ": " << loom_last_error();
      ++refused;
    }
    ASSERT_EQ(run(300), LOOM_OK) << loom_last_error();
    EXPECT_EQ(hash(), large) << n;
    ASSERT_EQ(run(2), LOOM_OK) << loom_last_error();
    EXPECT_EQ(hash(), small) << n;
    EXPECT_EQ(loom_release(fresh), LOOM_OK);
    ASSERT_EQ(loom_set_memory(nullptr, nullptr, nullptr), LOOM_OK);
    if (status == LOOM_OK) break;
    ASSERT_LT(n, 1000);
  }
  EXPECT_GT(refused, 1);
  for (const loom_handle handle : {session, graph, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
  for (const auto& host : hosts) EXPECT_TRUE(host->held.empty());
}

struct Said {
  std::thread::id thread;
  std::vector<std::pair<int, std::string>> lines;
  static void log(void* user, loom_log_level level, const char* text) {
    auto& said = *static_cast<Said*>(user);
    said.thread = std::this_thread::get_id();
    said.lines.emplace_back(level, text);
    loom_kind kind = 0;
    EXPECT_EQ(loom_kind_of(1, &kind), LOOM_BAD_HANDLE);  // a failure inside of the hook is not reported again
  }
};

TEST(CapiHooks, every_failure_is_told_on_the_thread_of_the_call) {
  Said said;
  ASSERT_EQ(loom_set_log(Said::log, &said), LOOM_OK);
  loom_model model = 0;
  EXPECT_EQ(loom_model_open("nowhere.gguf", nullptr, &model), LOOM_NOT_FOUND);
  ASSERT_EQ(said.lines.size(), 1u);
  EXPECT_EQ(said.lines[0].first, LOOM_LOG_ERROR);
  EXPECT_EQ(said.lines[0].second.rfind("NotFound: nowhere.gguf", 0), 0u) << said.lines[0].second;
  EXPECT_EQ(said.thread, std::this_thread::get_id());
  EXPECT_EQ(std::string(loom_last_error()).find("expected a handle"), std::string::npos) << loom_last_error();
  ASSERT_EQ(loom_set_log(nullptr, nullptr), LOOM_OK);
  EXPECT_EQ(loom_model_open("nowhere.gguf", nullptr, &model), LOOM_NOT_FOUND);
  EXPECT_EQ(said.lines.size(), 1u);
}

TEST(CapiHooks, a_broken_invariant_is_told_before_the_process_ends) {
  EXPECT_EXIT(
      {
        loom_set_fatal([](void* user, const char* text) { std::_Exit(*text != '\0' ? *static_cast<int*>(user) : 1); },
                       new int(42));
        assertion_failed("a < b", "file.cpp", 7);
      },
      testing::ExitedWithCode(42), "");
}

// In the child, calls of objects that have threads say so; what has none works, and a new session too.
int child(loom_model model, loom_session session, loom_threads threads, const std::string& expected) {
  const std::vector<std::int32_t> ids = {3, 4, 5};
  const float* logits = nullptr;
  std::size_t count = 0;
  loom_blob info = 0;
  if (loom_session_feed(session, 0, ids.data(), ids.size(), 0, &logits, &count) != LOOM_INVALID_STATE) return 1;
  if (std::string_view(loom_last_error()).find("fork") == std::string_view::npos) return 2;
  auto compute = test::sized<loom_compute_options>();
  compute.threads = threads;
  auto options = test::sized<loom_session_options>();
  options.compute = &compute;
  loom_session own = 0;
  if (loom_session_create(model, &options, &own) != LOOM_INVALID_STATE) return 3;
  if (loom_model_info(model, &info) != LOOM_OK || loom_release(info) != LOOM_OK) return 4;
  if (loom_session_create(model, nullptr, &own) != LOOM_OK) return 5;
  if (loom_session_feed(own, 0, ids.data(), ids.size(), 0, &logits, &count) != LOOM_OK) return 6;
  if (std::string(reinterpret_cast<const char*>(logits), count * sizeof(float)) != expected) return 7;
  for (const loom_handle handle : {own, session, threads, model})
    if (loom_release(handle) != LOOM_OK) return 8;
  return 0;
}

TEST(CapiFork, a_child_is_told_which_objects_it_cannot_use) {
  loom_model model = 0;
  ASSERT_EQ(loom_model_open(model_path().c_str(), nullptr, &model), LOOM_OK) << loom_last_error();
  loom_threads threads = 0;
  ASSERT_EQ(loom_threads_create(3, &threads), LOOM_OK);
  auto compute = test::sized<loom_compute_options>();
  compute.threads = threads;
  auto options = test::sized<loom_session_options>();
  options.compute = &compute;
  loom_session session = 0;
  ASSERT_EQ(loom_session_create(model, &options, &session), LOOM_OK);
  const std::vector<std::int32_t> ids = {3, 4, 5};
  const float* logits = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(loom_session_feed(session, 0, ids.data(), ids.size(), 0, &logits, &count), LOOM_OK);
  const std::string expected(reinterpret_cast<const char*>(logits), count * sizeof(float));

  // Another thread makes and releases handles, so that forks come while it holds the table's lock.
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop.load()) {
      loom_cancel cancel = 0;
      EXPECT_EQ(loom_cancel_create(&cancel), LOOM_OK);
      EXPECT_EQ(loom_release(cancel), LOOM_OK);
    }
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(60);  // a hang ends the child
      ::_exit(child(model, session, threads, expected));
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << (WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  stop.store(true);
  busy.join();
  ASSERT_EQ(loom_session_feed(session, 0, ids.data(), 1, 0, &logits, &count), LOOM_OK) << loom_last_error();
  for (const loom_handle handle : {session, threads, model}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

}  // namespace
}  // namespace loom::hooks_test
