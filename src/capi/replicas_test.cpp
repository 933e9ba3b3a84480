// A training whose gradients replicas compute, through loom.h, has the hash of the same training alone.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string>

#include "capi/capi_test.h"
#include "support/files.h"

namespace loom::replicas_test {
namespace {

using loom::test::sized;
using loom::test::take;

constexpr std::string_view kConfig =
    R"({"network":{"layers":[{"type":"dense","input_height":2,"output_height":8,"activation":"tanh"},
    {"type":"dense","input_height":8,"output_height":2}]},"data":{"format":"csv","path":"x.csv","class_ids":true},
    "shards":3,"epochs":2,"batch_size":8,"shuffle":true,"loss":"softmax_crossentropy"})";

std::string hash_of(std::string_view outcome) {
  const std::size_t at = outcome.find("\"hash\"");
  return std::string(outcome.substr(at, 75));
}

struct Team {
  std::array<loom_replica, 2> replicas{};
  int steps = 0;
  bool leaves_one_out = false;
  std::uint64_t last_count = 1;
  std::int32_t answer = 1;
};

// The second replica sums shards 0 and 1, the first one shard 2.
std::int32_t sum_shards(void* user, const loom_shards_event* e) {
  auto& team = *static_cast<Team*>(user);
  EXPECT_EQ(e->struct_size, sizeof *e);
  EXPECT_EQ(e->shards, 3U);
  EXPECT_EQ(e->gradients_count, 3 * e->gradient_size);
  for (std::size_t r = 0; r < (team.leaves_one_out ? 1U : 2U); ++r) {
    const std::uint64_t first = r == 0 ? 2 : 0, count = r == 0 ? 1 : 2;
    EXPECT_EQ(loom_replica_begin(team.replicas[r], e->epoch, e->position, e->step, e->loss_scale, e->masters,
                                 e->masters_size),
              LOOM_OK)
        << loom_last_error();
    loom_blob sum = 0;
    EXPECT_EQ(loom_replica_sum(team.replicas[r], first, count, e->losses + first, &sum), LOOM_OK) << loom_last_error();
    const std::string bytes = take(sum);
    EXPECT_EQ(bytes.size(), e->gradient_size);
    std::memcpy(e->gradients + first * e->gradient_size, bytes.data(), bytes.size());
    e->counts[first] = first == 2 ? team.last_count : count;
  }
  ++team.steps;
  return team.answer;
}

TEST(CapiReplicas, a_divided_training_has_the_hash_of_one_process) {  // T-41
  const test::TempFolder folder;
  {
    std::ofstream csv(folder / "x.csv");
    csv << "a,b,c\n";
    for (int i = 0; i < 40; ++i) csv << (i % 7) * 0.3 - 1 << ',' << (i % 5) * 0.4 - 1 << ',' << (i % 7 > i % 5) << '\n';
  }
  const std::string at = folder.path();
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_training_options>();
  options.compute = &compute;
  options.folder = at.c_str(), compute.thread_count = 1;
  loom_blob outcome = 0;
  ASSERT_EQ(loom_training_run(kConfig.data(), kConfig.size(), 0, nullptr, nullptr, &options, &outcome), LOOM_OK)
      << loom_last_error();
  const std::string whole = hash_of(take(outcome));
  Team team;
  for (loom_replica& each : team.replicas)
    ASSERT_EQ(loom_replica_create(kConfig.data(), kConfig.size(), &options, &each), LOOM_OK) << loom_last_error();
  options.shards = sum_shards, options.user = &team;
  ASSERT_EQ(loom_training_run(kConfig.data(), kConfig.size(), 0, nullptr, nullptr, &options, &outcome), LOOM_OK)
      << loom_last_error();
  EXPECT_EQ(hash_of(take(outcome)), whole);
  EXPECT_EQ(team.steps, 10);
  team.leaves_one_out = true;
  EXPECT_EQ(loom_training_run(kConfig.data(), kConfig.size(), 0, nullptr, nullptr, &options, &outcome),
            LOOM_INVALID_ARGUMENT);
  EXPECT_NE(std::string(loom_last_error()).find("shard 0 of 3 is missing"), std::string::npos) << loom_last_error();
  const auto train = [&] {
    return loom_training_run(kConfig.data(), kConfig.size(), 0, nullptr, nullptr, &options, &outcome);
  };
  team.leaves_one_out = false;
  for (const std::uint64_t wrong : {std::uint64_t{2}, ~std::uint64_t{0}}) {  // of shard 2 of 3
    team.last_count = wrong;
    EXPECT_EQ(train(), LOOM_INVALID_ARGUMENT);
    EXPECT_NE(std::string(loom_last_error()).find(std::to_string(wrong) + " shards from 2"), std::string::npos)
        << loom_last_error();
  }
  team.last_count = 1, team.answer = -1;
  EXPECT_EQ(train(), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "the callback on_shards returned -1: expected 1 to continue or 0 to stop");
  team.answer = 0;
  ASSERT_EQ(train(), LOOM_OK) << loom_last_error();
  EXPECT_NE(take(outcome).find("\"stopped\""), std::string::npos);
  loom_blob info = 0;
  ASSERT_EQ(loom_replica_info(team.replicas[0], &info), LOOM_OK);
  EXPECT_NE(take(info).find("\"shards\":3"), std::string::npos);
  double loss = 0;
  EXPECT_EQ(loom_replica_begin(team.replicas[0], 0, 0, 0, 1, "short", 5), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(loom_replica_sum(team.replicas[0], 0, 1, &loss, &info), LOOM_INVALID_STATE);
  for (const loom_replica each : team.replicas) EXPECT_EQ(loom_release(each), LOOM_OK);
}

}  // namespace
}  // namespace loom::replicas_test
