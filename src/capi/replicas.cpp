// Replicas of loom.h: gradients for a training in another process.

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "training/replica.h"

namespace loom::capi {
namespace {

struct ReplicaObject : Object {
  static constexpr Kind kKind = Kind::Replica;
  explicit ReplicaObject(std::unique_ptr<Replica> given) : replica(std::move(given)) {}
  const std::unique_ptr<Replica> replica;
};

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_replica_create(const void* config, size_t config_size, const loom_training_options* options,
                                loom_replica* replica) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(replica));
    LOOM_TRY(const std::string_view text, need_bytes(config, config_size, "config"));
    LOOM_TRY(const loom_training_options given, read_struct(options));
    NetworkSessionOptions session;
    if (given.out != nullptr || given.start != LOOM_RUN_FRESH || given.epochs != 0 || given.cancel != 0 ||
        given.progress != nullptr || given.shards != nullptr)
      return fail(Code::InvalidArgument, "a replica reads folder and compute of the options: leave the others 0");
    LOOM_TRY_VOID(read_compute(given.compute, session));
    LOOM_TRY(TrainConfig read, parse_train_config(text, given.folder == nullptr ? "" : given.folder));
    LOOM_TRY(auto made, Replica::create(std::move(read), session));
    LOOM_TRY(*replica, make_handle<ReplicaObject>(std::move(made)));
    return {};
  });
}

loom_status loom_replica_begin(loom_replica replica, uint64_t epoch, uint64_t position, uint64_t step,
                               double loss_scale, const void* masters, size_t masters_size) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view bytes, need_bytes(masters, masters_size, "masters"));
    LOOM_TRY(const auto r, take<ReplicaObject>(replica, "replica"));
    return r->replica->begin({.epoch = epoch,
                              .position = position,
                              .step = step,
                              .loss_scale = loss_scale,
                              .masters = std::as_bytes(std::span(bytes))});
  });
}

loom_status loom_replica_sum(loom_replica replica, uint64_t first, uint64_t count, double* loss, loom_blob* gradients) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(loss, gradients));
    LOOM_TRY(const auto r, take<ReplicaObject>(replica, "replica"));
    LOOM_TRY(const ShardSum sum, r->replica->sum(first, count));
    LOOM_TRY(*gradients, make_blob(sum.gradients));
    *loss = sum.loss;
    return {};
  });
}

loom_status loom_replica_info(loom_replica replica, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto r, take<ReplicaObject>(replica, "replica"));
    const TrainingRun& run = r->replica->run();
    Json data = Json::array();
    for (const Dataset* set : {run.data().training.get(), run.data().held_out.get()})
      if (set != nullptr) data.push_back(to_hex(set->info().sha256));
    LOOM_TRY(*info, make_blob(Json{{"shards", run.config().trainer.shards},
                                   {"gradient_bytes", r->replica->gradient_bytes()},
                                   {"batches", run.batches()},
                                   {"data", std::move(data)}}));
    return {};
  });
}
