// Every function of loom.h with arguments that are wrong in the same way: nothing at all, handles that were released or
// are of another kind, results that are NULL, four threads at once.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "support/capi_arguments.h"
#include "support/capi_calls.inc"
#include "support/files.h"

namespace loom::misuse_test {
namespace {

using loom_calls::Chooser;
using loom_calls::kCalls;
using loom_calls::NoArguments;
using loom_calls::Objects;

TEST(CapiMisuse, every_function_takes_nothing_at_all) {
  NoArguments nothing;
  std::size_t calls = 0;
  for (const auto& function : kCalls<NoArguments>) {
    const loom_status status = function.call(nothing);
    ++calls;
    EXPECT_STRNE(loom_status_name(status), "Unknown") << function.name;
    if (std::string_view(function.name) == "release") continue;  // 0 is ignored
    if (function.takes_handle || function.gives) {
      EXPECT_NE(status, LOOM_OK) << function.name;
      EXPECT_STRNE(loom_last_error(), "") << function.name;
    }
  }
  EXPECT_GT(calls, 70u);
}

// Results and structs that are well-formed, arrays of a few zeros; the handles are a test's.
class Sensible : public NoArguments {
 public:
  loom_handle (*chosen)(loom_kind wanted) = nullptr;
  bool results = true;

  loom_handle handle(const char*, loom_kind kind, bool optional) { return optional ? 0 : chosen(kind); }
  const char* text(const char*, bool optional) { return optional ? nullptr : "layers.0.weight"; }
  loom_calls::Block<const void> bytes(const char*) { return {"{}", 2}; }
  template <class T>
  loom_calls::Block<const T> array(const char*) {
    static constexpr T kZeros[4] = {};
    return {kZeros, 4};
  }
  template <class T>
  loom_calls::Block<T> into(const char*) {
    return {memory_.take<T>(4), 4};
  }
  template <class T>
  loom_calls::ViewTo<T> view() {
    if (!results) return {};
    return {memory_.take<const T*>(1), memory_.take<std::size_t>(1)};
  }
  template <class T>
  T* result() {
    return results ? memory_.take<T>(1) : nullptr;
  }
  template <class S>
  S* result_struct() {
    return results ? given_struct<S>(false) : nullptr;
  }
  template <class S>
  S* given_struct(bool) {
    S* const out = memory_.take<S>(1);
    const std::uint32_t size = sizeof(S);
    std::memcpy(static_cast<void*>(out), &size, sizeof size);
    return out;
  }

 private:
  loom_calls::Memory memory_;
};

loom_blob make_blob() {
  loom_blob blob = 0;
  EXPECT_EQ(loom_system_info(&blob), LOOM_OK);
  return blob;
}

const std::set<std::string_view> kAnyHandle = {"retain", "release", "kind_of"};

// Expects that a function which takes a handle refuses it; `any` for those that take every kind.
void expect_bad_handles(Sensible& arguments, bool any) {
  std::size_t refused = 0;
  for (const auto& function : kCalls<Sensible>) {
    if (!function.takes_handle || loom_calls::is_long(function.name)) continue;
    if (!any && kAnyHandle.contains(function.name)) continue;
    const loom_status status = function.call(arguments);
    EXPECT_NE(status, LOOM_OK) << function.name;
    refused += status == LOOM_BAD_HANDLE ? 1 : 0;
  }
  EXPECT_GT(refused, 40u);
}

TEST(CapiMisuse, every_function_refuses_a_handle_that_was_released) {
  static loom_handle stale = 0;
  stale = make_blob();
  ASSERT_EQ(loom_release(stale), LOOM_OK);
  Sensible arguments;
  arguments.chosen = [](loom_kind wanted) {
    if (wanted == LOOM_KIND_NONE) return stale;
    return (stale & ~(std::uint64_t{0xff} << 56)) | static_cast<std::uint64_t>(wanted) << 56;  // of the expected kind
  };
  expect_bad_handles(arguments, true);
}

TEST(CapiMisuse, every_function_refuses_a_handle_of_another_kind) {
  static loom_handle blob = 0, cancel = 0;
  blob = make_blob();
  ASSERT_EQ(loom_cancel_create(&cancel), LOOM_OK);
  Sensible arguments;
  arguments.chosen = [](loom_kind wanted) { return wanted == LOOM_KIND_BLOB ? cancel : blob; };
  expect_bad_handles(arguments, false);
  // The kind that the slot holds decides, not the one that the number names.
  arguments.chosen = [](loom_kind wanted) {
    const loom_handle other = wanted == LOOM_KIND_BLOB ? cancel : blob;
    return (other & ~(std::uint64_t{0xff} << 56)) | static_cast<std::uint64_t>(wanted) << 56;
  };
  expect_bad_handles(arguments, false);
  EXPECT_EQ(loom_release(blob), LOOM_OK);
  EXPECT_EQ(loom_release(cancel), LOOM_OK);
}

// A model, a network and what is made of them, over copies of small files.
class CapiObjects : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy(test::source_path("tests/golden/models/llama2_untied"), folder_ / "model");
    for (const char* const name : {"model", "made.entity", "made.json", "none", "made.onnx", "made.safetensors"})
      paths_.push_back(folder_ / name);
    open_language_model();
    open_network();
    loom_cancel cancel = 0;
    ASSERT_EQ(loom_cancel_create(&cancel), LOOM_OK);
    objects_.add(cancel);
    loom_threads threads = 0;
    ASSERT_EQ(loom_threads_create(2, &threads), LOOM_OK);
    objects_.add(threads), objects_.add(make_blob());
  }
  void open_language_model() {
    loom_model model = 0;
    ASSERT_EQ(loom_model_open(paths_[0].c_str(), nullptr, &model), LOOM_OK) << loom_last_error();
    objects_.add(model);
    loom_tokenizer tokenizer = 0;
    ASSERT_EQ(loom_model_tokenizer(model, &tokenizer), LOOM_OK) << loom_last_error();
    objects_.add(tokenizer);
    loom_session session = 0;
    ASSERT_EQ(loom_session_create(model, nullptr, &session), LOOM_OK) << loom_last_error();
    objects_.add(session);
    loom_generator generator = 0;
    const std::int32_t id = 5;
    ASSERT_EQ(loom_generator_create(session, &id, 1, nullptr, &generator), LOOM_OK) << loom_last_error();
    objects_.add(generator);
  }
  void open_network() {
    const std::string_view spec = loom_calls::kDocuments[1], config = loom_calls::kDocuments[5];
    loom_network network = 0, learning = 0;
    ASSERT_EQ(loom_network_from_json(spec.data(), spec.size(), nullptr, &network), LOOM_OK) << loom_last_error();
    ASSERT_EQ(loom_network_clone(network, &learning), LOOM_OK) << loom_last_error();
    objects_.add(network), objects_.add(learning);
    loom_network_session_options options{};
    options.struct_size = sizeof options, options.backward = 1;
    loom_network_session session = 0;
    ASSERT_EQ(loom_network_session_create(network, &options, &session), LOOM_OK) << loom_last_error();
    objects_.add(session);
    const std::uint64_t shape[] = {2, 4};
    loom_trainer trainer = 0;
    ASSERT_EQ(loom_trainer_create(learning, config.data(), config.size(), shape, 2, nullptr, &trainer), LOOM_OK)
        << loom_last_error();
    objects_.add(trainer);
    open_graph(network);
  }
  void open_graph(loom_network network) {
    loom_blob report = 0;
    ASSERT_EQ(loom_network_export(network, paths_[4].c_str(), nullptr, &report), LOOM_OK) << loom_last_error();
    loom_graph graph = 0;
    ASSERT_EQ(loom_graph_open(paths_[4].c_str(), nullptr, &graph), LOOM_OK) << loom_last_error();
    loom_graph_session session = 0;
    ASSERT_EQ(loom_graph_session_create(graph, nullptr, &session), LOOM_OK) << loom_last_error();
    objects_.add(report), objects_.add(graph), objects_.add(session);
  }

  test::TempFolder folder_;
  std::vector<std::string> paths_;
  Objects objects_;
};

TEST_F(CapiObjects, no_function_writes_to_a_result_that_is_null) {
  static Objects* objects = nullptr;
  objects = &objects_;
  Sensible arguments;
  arguments.results = false;
  arguments.chosen = [](loom_kind wanted) { return objects->living(wanted, 0); };
  for (const auto& function : kCalls<Sensible>) {
    if (!function.gives || loom_calls::is_long(function.name)) continue;
    EXPECT_EQ(function.call(arguments), LOOM_INVALID_ARGUMENT) << function.name << ": " << loom_last_error();
  }
}

// A table of names that were shorter than that of the kinds would call it "an object", or no handle at all.
TEST_F(CapiObjects, a_handle_of_another_kind_is_called_by_its_name) {
  loom_kind kind = 0;
  loom_blob info = 0;
  EXPECT_EQ(loom_network_info(objects_.living(LOOM_KIND_TRAINER, 0), &info), LOOM_BAD_HANDLE);
  EXPECT_STREQ(loom_last_error(), "expected the handle of a network, got that of a trainer");
  EXPECT_EQ(loom_graph_info(objects_.living(LOOM_KIND_NETWORK, 0), &info), LOOM_BAD_HANDLE);
  EXPECT_STREQ(loom_last_error(), "expected the handle of a graph, got that of a network");
  EXPECT_EQ(loom_adaptation_info(0, &info), LOOM_BAD_HANDLE);
  EXPECT_STREQ(loom_last_error(), "expected the handle of an adaptation, got 0");
  EXPECT_EQ(loom_kind_of(objects_.living(LOOM_KIND_GRAPH_SESSION, 0), &kind), LOOM_OK);
  EXPECT_EQ(kind, LOOM_KIND_GRAPH_SESSION);
}

TEST(CapiMisuse, a_struct_that_ends_inside_of_a_pointer_has_none_there) {
  loom_training_options options{};
  options.out = "folder";
  options.struct_size = offsetof(loom_training_options, out) + sizeof(options.out) / 2;
  loom_blob outcome = 0;
  EXPECT_EQ(loom_training_run_file("no such file", &options, &outcome), LOOM_NOT_FOUND) << loom_last_error();
}

// The answers of the calls depend on which thread is faster; each call has an answer. ThreadSanitizer looks on.
TEST_F(CapiObjects, four_threads_call_every_function_on_the_same_objects) {
  constexpr int kThreads = 4, kRounds = 12;
  std::vector<std::unique_ptr<Chooser>> choosers;  // their memory stays until all threads have ended
  std::vector<std::vector<std::uint8_t>> bytes(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    std::mt19937 draw(static_cast<unsigned>(t));
    for (int i = 0; i < 60000; ++i) bytes[t].push_back(static_cast<std::uint8_t>(draw()));
    choosers.push_back(std::make_unique<Chooser>(bytes[t].data(), bytes[t].size(), objects_, paths_, false));
  }
  std::atomic<int> unknown{0}, done{0};
  std::vector<std::thread> hosts;
  for (int t = 0; t < kThreads; ++t)
    hosts.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round)
        for (const auto& function : kCalls<Chooser>) {
          if (loom_calls::is_long(function.name)) continue;
          const loom_status status = function.call(*choosers[t]);
          if (std::string_view(loom_status_name(status)) == "Unknown") unknown.fetch_add(1);
          if (status == LOOM_OK) done.fetch_add(1);
        }
    });
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(unknown.load(), 0);
  EXPECT_GT(done.load(), 500);
}

}  // namespace
}  // namespace loom::misuse_test
