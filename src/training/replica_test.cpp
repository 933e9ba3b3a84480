// A step divided over replicas, as processes divide it, has the bits of one trainer's step.

#include "training/replica.h"

#include <algorithm>

#include "training/training_test.h"

namespace loom::training_test {
namespace {

// The sums of one replica, kept after its next call.
struct KeptSum {
  ShardSum sum;
  std::vector<std::byte> gradients;
};

// `owners` replicas, each of which computes the shards of its share node by node; owners answer last to first.
class Owners {
 public:
  Owners(const Json& json, const Folder& folder, std::size_t owners) {
    for (std::size_t o = 0; o < owners; ++o) replicas_.push_back(made(json, folder));
    json_ = json, folder_ = &folder;
  }
  static std::unique_ptr<Replica> made(const Json& json, const Folder& folder) {
    auto config = read_train_config(json, folder.path);
    EXPECT_TRUE(config) << (config ? "" : config.error().text());
    if (!config) return nullptr;
    auto replica = Replica::create(std::move(*config), {.threads = 1});
    EXPECT_TRUE(replica) << (replica ? "" : replica.error().text());
    return replica ? std::move(*replica) : nullptr;
  }
  Result<std::vector<ShardSum>> operator()(const ShardRequest& request) {
    kept_.clear();
    const std::size_t owners = replicas_.size();
    // One of them is lost now and then, and a new one begins in the middle.
    if (request.step % 7 == 3) replicas_[request.step % owners] = made(json_, *folder_);
    for (std::size_t o = owners; o-- > 0;) {
      LOOM_TRY_VOID(replicas_[o]->begin(request));
      std::size_t at = o * request.shards / owners;
      const std::size_t end = (o + 1) * request.shards / owners;
      while (at < end) {
        std::size_t count = end - at;
        while (!is_shard_node(at, count, request.shards)) --count;
        LOOM_TRY(const ShardSum sum, replicas_[o]->sum(at, count));
        kept_.push_back({sum, {sum.gradients.begin(), sum.gradients.end()}});
        at += count;
      }
    }
    std::vector<ShardSum> out;
    for (const KeptSum& kept : kept_) {
      out.push_back(kept.sum);
      out.back().gradients = kept.gradients;
    }
    return out;
  }

 private:
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<KeptSum> kept_;
  Json json_;
  const Folder* folder_ = nullptr;
};

TrainResult expect_one_hash(const Json& config, const std::vector<std::size_t>& owners) {
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  const TrainResult whole = run_all(config, folder);
  for (const std::size_t count : owners) {
    RunOptions options;
    const auto team = std::make_shared<Owners>(config, folder, count);
    options.shards = [team](const ShardRequest& request) { return (*team)(request); };
    const TrainResult divided = run_all(config, folder, options);
    EXPECT_EQ(divided.hash, whole.hash) << count;
    EXPECT_EQ(divided.loss_history, whole.loss_history) << count;
    EXPECT_EQ(divided.skipped_batches, whole.skipped_batches) << count;
  }
  return whole;
}

TEST(Replica, any_number_of_owners_gives_the_bits_of_one_process) {  // T-41
  Json config = small_config();
  config["epochs"] = 2, config["shards"] = 5;
  expect_one_hash(config, {1, 2, 3, 5});
}

TEST(Replica, schedules_clipping_accumulation_and_mixed_precision_divide_too) {  // T-41
  Json config = small_config();
  config["epochs"] = 2, config["shards"] = 6;
  config["schedule"] = {{"name", "cosine"}, {"warmup_steps", 3}};
  config["clip_norm"] = 0.05;
  expect_one_hash(config, {4});
  config.erase("clip_norm");
  config["accumulate"] = 3;
  config["clip_value"] = 0.01;
  expect_one_hash(config, {4});
  config["mixed"] = "f16";
  expect_one_hash(config, {4});
  config.erase("mixed");
  config["dtype"] = "int8";
  config["optimizer"] = {{"name", "sgd"}, {"learning_rate", 0.1}};
  expect_one_hash(config, {4});
}

TEST(Replica, a_step_that_is_not_finite_is_skipped_as_in_one_process) {  // T-04
  Json config = small_config();
  config["epochs"] = 1, config["shards"] = 4, config["max_skipped"] = 100;
  config["optimizer"] = {{"name", "sgd"}, {"learning_rate", 1e12}};
  EXPECT_GT(expect_one_hash(config, {3}).skipped_batches, 0u);
}

TEST(Replica, what_cannot_be_divided_is_refused_by_name) {  // T-41
  const Folder folder;
  folder.write("blobs.csv", blobs(64, 8, 4));
  const auto refusal = [&](const Json& json) -> std::string {
    auto config = read_train_config(json, folder.path);
    if (!config) return config.error().text();
    const auto replica = Replica::create(std::move(*config), {});
    EXPECT_FALSE(replica);
    return replica ? "" : replica.error().text();
  };
  Json config = small_config();
  EXPECT_NE(refusal(config).find("shards: expected 2 or more"), std::string::npos);
  config["tween"] = Json::object();
  config.erase("optimizer");
  EXPECT_NE(refusal(config).find("tween"), std::string::npos);
  config = small_config(), config["shards"] = 2, config["optimizer"] = {{"name", "lbfgs"}};
  EXPECT_NE(refusal(config).find("lbfgs"), std::string::npos);
}

TEST(Replica, sums_that_do_not_fit_are_errors) {  // T-41
  const Folder folder;
  folder.write("blobs.csv", blobs(64, 8, 4));
  Json config = small_config();
  config["shards"] = 4;
  auto replica = Owners::made(config, folder);
  ASSERT_NE(replica, nullptr);
  EXPECT_EQ(replica->sum(0, 1).error().code, Code::InvalidState);
  const auto run = open_run(config, folder);
  std::vector<std::byte> masters;
  for (const Trainer::Slot& slot : run->trainer().masters()) {
    const auto* from = static_cast<const std::byte*>(slot.values.data);
    masters.insert(masters.end(), from, from + slot.values.bytes());
  }
  ShardRequest request{.masters = masters};
  EXPECT_EQ(replica->begin({}).error().code, Code::ShapeMismatch);
  request.position = 1000;
  EXPECT_EQ(replica->begin(request).error().code, Code::OutOfRange);
  request.position = 0, request.loss_scale = -1;
  EXPECT_EQ(replica->begin(request).error().code, Code::CorruptData);
  request.loss_scale = 1;
  ASSERT_TRUE(replica->begin(request));
  EXPECT_EQ(replica->sum(1, 2).error().code, Code::InvalidArgument);
  EXPECT_EQ(replica->sum(3, 2).error().code, Code::InvalidArgument);
  const ShardSum sum = *replica->sum(0, 2);
  auto batch = run->batch_at(0, 0);
  ASSERT_TRUE(batch);
  const auto from = [&](std::vector<ShardSum> sums) { return run->trainer().step_from(*batch, sums).error().code; };
  EXPECT_EQ(from({}), Code::InvalidArgument);
  EXPECT_EQ(from({sum}), Code::InvalidArgument);
  EXPECT_EQ(from({sum, sum}), Code::InvalidArgument);
  EXPECT_EQ(from({sum, {2, 2, sum.gradients.first(8), 0}}), Code::ShapeMismatch);
}

}  // namespace
}  // namespace loom::training_test
