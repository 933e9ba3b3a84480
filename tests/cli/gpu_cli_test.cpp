// --device of commands that judge, choose and verify: the same words as on the CPU, and one line where there is no
// card.

#include <gtest/gtest.h>

#include "../support/program.h"
#include "core/json.h"
#include "support/files.h"
#include "support/gpu.h"

namespace loom::gpu_cli_test {
namespace {

using test::loom;
using test::Outcome;
using test::read_all;
using test::write_all;
using Args = std::vector<std::string>;

constexpr const char* kBase = R"({"seed":1,"input_shape":[2],"layers":[
  {"type":"dense","input_height":2,"output_height":40,"activation":"tanh","bias":true},
  {"type":"dense","input_height":40,"output_height":1}]})";

class GpuCli : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }
  void SetUp() override {
    write_all(file("net.json"), kBase);
    Json evolve{{"task", "xor"}, {"population", 8}, {"generations", 3}, {"seed", 4}, {"network", "net.json"}};
    evolve["mutation"] = {{"weight_perturb_rate", 0.5}, {"dtype_rate", 0.3}};
    write_all(file("evolve.json"), dump_json(evolve));
    Json inputs = Json::array();
    for (int i = 0; i < 30; ++i) inputs.push_back(Json{i * 7 % 11 / 11.0, i * 5 % 13 / 13.0});
    write_all(file("data.json"), dump_json(Json{{"inputs", inputs}}));
  }
  static Outcome run(Args arguments, const Args& more = {}) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return loom(arguments);
  }

  test::TempFolder folder_;
};

// The card of tests; test::gpu_device() opens it in this process, the program opens it again.
#define NEEDS_CARD() \
  if (test::gpu_device() == nullptr) GTEST_SKIP() << "no graphics card"

TEST_F(GpuCli, random_networks_are_verified_beside_this_computer) {
  NEEDS_CARD();
  const Args args{"verify", "--random", "6", "--case", "8", "--json"};
  const Outcome here = run(args), there = run(args, {"--device", "gpu"});
  ASSERT_EQ(here.status, 0) << here.err;
  ASSERT_EQ(there.status, 0) << there.err << there.out;
  const Json wanted = parse_json(here.out).value(), got = parse_json(there.out).value();
  EXPECT_EQ(got["digest"], wanted["digest"]);
  EXPECT_EQ(got["cases"], 6);
  EXPECT_EQ(got["device"], "gpu");
  EXPECT_FALSE(got["adapter"].empty());
  std::size_t refused = 0;
  for (const auto& [why, count] : got["refused"].items()) refused += count.get<std::size_t>();
  EXPECT_GT(refused, 0u) << there.out;
  EXPECT_LT(refused, 6u) << there.out;
  const Outcome text = run({"verify", "--random", "6", "--case", "8", "--table"}, {"--device", "gpu:0"});
  EXPECT_NE(text.out.find(fmt::format("{} cases have no form on the card", refused)), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("PASS  " + wanted["digest"].get<std::string>()), std::string::npos) << text.out;
}

TEST_F(GpuCli, an_evolution_has_the_hash_and_the_files_of_the_cpu) {
  NEEDS_CARD();
  const auto evolved = [&](const std::string& device, const std::string& threads) {
    const std::string out = file(device.substr(0, 3) + threads);
    const Outcome done = run({"evolve", file("evolve.json"), "-o", out, "--json", "-t", threads, "--device", device});
    EXPECT_EQ(done.status, 0) << done.err;
    return parse_json(done.out).value_or(Json())["hash"].get<std::string>() + read_all(out + "/lineage.jsonl") +
           read_all(out + "/best.entity");
  };
  const std::string wanted = evolved("cpu", "1");
  EXPECT_TRUE(evolved("gpu", "1") == wanted);
  EXPECT_TRUE(evolved("gpu:0", "3") == wanted);
}

TEST_F(GpuCli, types_chosen_on_a_card_are_those_of_the_cpu) {
  NEEDS_CARD();
  const auto morphed = [&](const std::string& device) {
    const Outcome done =
        run({"morph", file("net.json"), "-o", file("out.entity"), "--auto", "--data", file("data.json"), "--max-bytes",
             "600", "--overwrite", "-q", "--json", "--device", device});
    EXPECT_EQ(done.status, 0) << done.err;
    return done.out + read_all(file("out.entity"));
  };
  EXPECT_TRUE(morphed("gpu") == morphed("cpu"));
}

TEST_F(GpuCli, the_matrix_of_benchmarks_compares_the_bits_of_a_card) {
  NEEDS_CARD();
  const Args args{"bench", "matrix", "--kind", "dense", "--seconds", "0", "--json", "-q", "-t", "1", "--device", "gpu"};
  for (const char* const type : {"int8", "int32"}) {
    const Outcome done = run(args, {"--dtype", type});
    ASSERT_EQ(done.status, 0) << done.err;
    for (const Json& row : parse_json(done.out).value()["rows"]) {
      EXPECT_EQ(row["same_bits"], true);
      const Json& last = row["timings"].back();
      EXPECT_EQ(last["device"], "gpu");
      EXPECT_EQ(last["runs"] == 0, type == std::string("int32"));
    }
  }
  const Outcome text = run({"bench", "matrix", "--kind", "dense", "--seconds", "0", "-q", "-t", "1", "--device", "gpu"},
                           {"--dtype", "int32"});
  EXPECT_NE(text.out.find("            -  "), std::string::npos) << text.out;
}

class DeviceCli : public GpuCli {};

TEST_F(DeviceCli, auto_keeps_a_small_population_here_and_says_so_in_one_line) {
  const Outcome done = run({"evolve", file("evolve.json"), "--device", "auto"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("loom: device auto: cpu: "), std::string::npos) << done.err;
  EXPECT_EQ(done.err.find("device auto"), done.err.rfind("device auto")) << done.err;
  const Outcome plain = run({"evolve", file("evolve.json")});
  EXPECT_EQ(done.out.substr(done.out.find("hash")), plain.out.substr(plain.out.find("hash")));
  EXPECT_EQ(run({"evolve", file("evolve.json"), "--device", "auto", "-q"}).err, "");
}

TEST_F(DeviceCli, what_cannot_be_is_told_in_one_line) {
  const std::string out = file("o.entity");
  const Args evolve{"evolve", file("evolve.json")}, verify{"verify", "--random", "2"},
      plain{"morph", file("net.json"), "-o", out, "--dtype", "int8"},
      chosen{"morph", file("net.json"), "-o", out, "--auto", "--data", file("data.json"), "--max-bytes", "600"};
  const struct {
    Args args, device;
    const char* told;
  } cases[] = {{evolve, {"--device", "gpu", "--precision", "fast"}, "evolve chooses by bits"},
               {chosen, {"--device", "gpu:fast"}, "morph --auto chooses by bits"},
               {verify, {"--device", "gpu:fast"}, "verify compares bits"},
               {plain, {"--device", "gpu"}, "--device belongs to --auto"},
               {evolve, {"--device", "tpu"}, "--device tpu: "},
               {chosen, {"--device", "tpu"}, "--device tpu: "},
               {verify, {"--device", "tpu"}, "--device tpu: "},
               {evolve, {"--device", "gpu:999"}, "--device gpu:999: "}};
  for (const auto& [args, device, told] : cases) {
    const Outcome done = run(args, device);
    EXPECT_EQ(done.status, 2) << done.err;
    EXPECT_NE(done.err.find(told), std::string::npos) << done.err;
    EXPECT_EQ(std::ranges::count(done.err, '\n'), 1) << done.err;
  }
}

}  // namespace
}  // namespace loom::gpu_cli_test
