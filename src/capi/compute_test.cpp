// loom_compute_options: each call reads a field or refuses it by name.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "capi/capi_test.h"

namespace loom::capi_compute_test {
namespace {

using test::Batch;
using test::sized;

struct Call {
  const char* name;
  std::set<std::string> reads;
  std::function<loom_status(const loom_compute_options*)> make;  // of objects or files that do not exist
};

template <class Options, class F>
std::function<loom_status(const loom_compute_options*)> with(F&& make) {
  return [make](const loom_compute_options* compute) {
    auto options = sized<Options>();
    options.compute = compute;
    return make(&options);
  };
}

std::vector<Call> calls() {
  static loom_handle out = 0;
  static const std::uint64_t shape[] = {1, 2};
  const std::set<std::string> workers = {"threads", "thread_count"},
                              place = {"threads", "thread_count", "isa", "device"},
                              all = {"threads", "thread_count", "isa", "device", "max_bytes"};
  return {
      {"model_open", workers, with<loom_model_options>([](auto* o) { return loom_model_open("none", o, &out); })},
      {"load", workers, with<loom_file_open_options>([](auto* o) { return loom_file_open("none", o, &out, &out); })},
      {"convert", {"thread_count"}, with<loom_file_convert_options>([](auto* o) {
         return loom_file_convert("a", "b", o, &out);
       })},
      {"session_create", place, with<loom_session_options>([](auto* o) { return loom_session_create(0, o, &out); })},
      {"network_session_create", all,
       with<loom_network_session_options>([](auto* o) { return loom_network_session_create(0, o, &out); })},
      {"trainer_create", all,
       [](const auto* c) { return loom_trainer_create(0, R"({"loss":"mse"})", 14, shape, 2, c, &out); }},
      {"tween_create", all, [](const auto* c) { return loom_tween_create(0, nullptr, 0, shape, 2, c, &out); }},
      {"train", all,
       with<loom_training_options>([](auto* o) { return loom_training_run("{}", 2, 0, nullptr, nullptr, o, &out); })},
      {"train_file", all, with<loom_training_options>([](auto* o) { return loom_training_run_file("none", o, &out); })},
      {"replay", all, with<loom_training_options>([](auto* o) { return loom_training_replay("none", o, &out); })},
      {"replica_create", all,
       with<loom_training_options>([](auto* o) { return loom_replica_create("{}", 2, o, &out); })},
      {"evolve", place, with<loom_evolution_options>([](auto* o) { return loom_evolution_run("{}", 2, o, &out); })},
      {"evolve_file", place,
       with<loom_evolution_options>([](auto* o) { return loom_evolution_run_file("none", o, &out); })},
      {"judge_create", place,
       with<loom_evolution_options>([](auto* o) { return loom_judge_create("{}", 2, o, &out); })},
      {"step_mesh_create", place,
       with<loom_step_mesh_options>([](auto* o) { return loom_step_mesh_create(0, shape, 2, o, &out); })},
      {"graph_session_create", place, [](const auto* c) { return loom_graph_session_create(0, c, &out); }},
      {"encoder_open", all, with<loom_encoder_options>([](auto* o) { return loom_encoder_open("none", o, &out); })},
      {"population_create",
       {"threads", "thread_count", "isa"},
       [](const auto* c) { return loom_population_create(0, shape, 2, nullptr, 0, c, &out); }},
      {"population_restore",
       {"threads", "thread_count", "isa"},
       [](const auto* c) { return loom_population_restore("{}", 2, shape, 2, nullptr, 0, c, &out); }},
      {"verify", {"thread_count", "isa"}, [](const auto* c) { return loom_verify(c, &out); }},
  };
}

TEST(CapiCompute, EachCallReadsAFieldOrRefusesItByName) {
  loom_threads threads = 0, released = 0;
  ASSERT_EQ(loom_threads_create(1, &threads), LOOM_OK);
  ASSERT_EQ(loom_threads_create(1, &released), LOOM_OK);
  ASSERT_EQ(loom_release(released), LOOM_OK);
  struct Field {
    const char* name;
    std::function<void(loom_compute_options&, bool)>
        set;            // to a value that makes no sense where it is read, or to one that does
    loom_status wrong;  // of the first; OK: the call fails later
  };
  const std::vector<Field> fields = {
      {"threads", [&](auto& c, bool good) { c.threads = good ? threads : released; }, LOOM_BAD_HANDLE},
      {"thread_count", [](auto& c, bool good) { c.thread_count = good ? 1 : -1; }, LOOM_INVALID_ARGUMENT},
      {"isa", [](auto& c, bool good) { c.isa = good ? "scalar" : "none"; }, LOOM_UNKNOWN_NAME},
      {"device", [](auto& c, bool) { c.device = "cpu"; }, LOOM_OK},
      {"max_bytes", [](auto& c, bool) { c.max_bytes = 1; }, LOOM_OK}};
  for (const Call& call : calls())
    for (const Field& field : fields) {
      SCOPED_TRACE(std::string(call.name) + " " + field.name);
      const bool reads = call.reads.contains(field.name);
      auto compute = sized<loom_compute_options>();
      field.set(compute, !reads);
      const loom_status status = call.make(&compute);
      const std::string error = loom_last_error();
      EXPECT_NE(status, LOOM_OK);
      EXPECT_EQ(error.find("has no effect on this call") == std::string::npos, reads) << error;
      if (!reads) {
        EXPECT_NE(error.find("compute." + std::string(field.name)), std::string::npos) << error;
      } else if (field.wrong != LOOM_OK) {
        EXPECT_EQ(status, field.wrong) << error;
      }
    }
  auto both = sized<loom_compute_options>(), none = loom_compute_options{};
  both.threads = threads, both.thread_count = 1;
  for (const Call& call : calls()) {
    EXPECT_EQ(call.make(&both), LOOM_INVALID_ARGUMENT) << call.name;
    EXPECT_EQ(call.make(&none), LOOM_INVALID_ARGUMENT) << call.name;
    EXPECT_STREQ(loom_last_error(), "loom_compute_options: struct_size is 0: set it to sizeof(loom_compute_options)")
        << call.name;
  }
  EXPECT_EQ(loom_release(threads), LOOM_OK);
}

TEST(CapiCompute, MemoryDevicesAndOlderStructsCount) {
  const std::string spec = R"({"input_shape":[40],"layers":[{"type":"dense","input_height":40,"output_height":70}]})";
  const std::string config = R"({"loss":"mse"})";
  const std::uint64_t shape[] = {8, 40};
  loom_network network = 0;
  loom_trainer trainer = 0;
  ASSERT_EQ(loom_network_from_json(spec.data(), spec.size(), nullptr, &network), LOOM_OK) << loom_last_error();
  auto compute = sized<loom_compute_options>();
  const auto make = [&] {
    return loom_trainer_create(network, config.data(), config.size(), shape, 2, &compute, &trainer);
  };
  const std::vector<float> x(8 * 40, 0.5f), t(8 * 70, 0.5f);
  const Batch batch(x, shape, t);
  const auto step = [&] {
    auto done = sized<loom_training_step>();
    const loom_status status = loom_trainer_step(trainer, batch.get(), 0, &done);
    EXPECT_EQ(loom_release(trainer), LOOM_OK);
    return status;
  };
  compute.max_bytes = 64;
  ASSERT_EQ(make(), LOOM_OK) << loom_last_error();
  EXPECT_EQ(step(), LOOM_OUT_OF_MEMORY) << loom_last_error();
  compute.struct_size = offsetof(loom_compute_options, max_bytes);  // an older header: the field is not the caller's
  ASSERT_EQ(make(), LOOM_OK) << loom_last_error();
  EXPECT_EQ(step(), LOOM_OK) << loom_last_error();
  compute = sized<loom_compute_options>();
  compute.device = "tpu";
  EXPECT_EQ(make(), LOOM_INVALID_ARGUMENT) << loom_last_error();
  EXPECT_EQ(loom_release(network), LOOM_OK);
}

}  // namespace
}  // namespace loom::capi_compute_test
