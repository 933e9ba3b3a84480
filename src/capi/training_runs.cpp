// Whole trainings and replays of loom.h.

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "host/train.h"

namespace loom::capi {
namespace {

static_assert(static_cast<int>(TrainingStop::Finished) == LOOM_TRAINING_STOP_FINISHED &&
              static_cast<int>(TrainingStop::EarlyStop) == LOOM_TRAINING_STOP_EARLY_STOP);
static_assert(static_cast<int>(TrainingStop::Stopped) == LOOM_TRAINING_STOP_STOPPED &&
              static_cast<int>(TrainingStop::Diverged) == LOOM_TRAINING_STOP_DIVERGED);

// Reports events to the host, whose answer may stop the run.
TrainingRun::Callback callback_of(const loom_training_options& given) {
  if (given.progress == nullptr) return {};
  return [call = given.progress, user = given.user](const TrainProgress& p) -> Result<Continue> {
    const std::string validation = p.validation == nullptr ? "" : dump_json(p.validation->to_json());
    const loom_training_event event{.struct_size = sizeof event,
                                    .phase = static_cast<loom_training_phase>(p.event),
                                    .epoch = p.epoch,
                                    .epochs = p.epochs,
                                    .batch = p.batch,
                                    .batches = p.batches,
                                    .loss = p.loss,
                                    .learning_rate = p.learning_rate,
                                    .validation = p.validation == nullptr ? nullptr : validation.c_str(),
                                    .stop = static_cast<loom_training_stop>(p.stop)};
    if (continues(call(user, &event), "on_training")) return Continue::yes;
    LOOM_TRY_VOID(need_answers());
    return Continue::stop;
  };
}

// Asks the host for the sums of a step's shards. Shared by copies of the source, of which one is called at a time.
ShardSource source_of(const loom_training_options& given) {
  if (given.shards == nullptr) return {};
  struct Room {
    std::vector<std::byte> gradients;
    std::vector<double> losses;
    std::vector<std::uint64_t> counts;
  };
  const auto room = std::make_shared<Room>();
  return [room, call = given.shards, user = given.user](const ShardRequest& r) -> Result<std::vector<ShardSum>> {
    room->gradients.resize(r.shards * r.gradient_bytes);
    room->losses.assign(r.shards, 0), room->counts.assign(r.shards, 0);
    const loom_shards_event event{.struct_size = sizeof event,
                                  .epoch = r.epoch,
                                  .position = r.position,
                                  .step = r.step,
                                  .loss_scale = r.loss_scale,
                                  .masters = r.masters.data(),
                                  .masters_size = r.masters.size(),
                                  .shards = r.shards,
                                  .gradient_size = r.gradient_bytes,
                                  .gradients = reinterpret_cast<std::uint8_t*>(room->gradients.data()),
                                  .gradients_count = room->gradients.size(),
                                  .losses = room->losses.data(),
                                  .losses_count = room->losses.size(),
                                  .counts = room->counts.data(),
                                  .counts_count = room->counts.size()};
    if (!continues(call(user, &event), "on_shards"))
      return fail(Code::Cancelled, "shards: the callback ended the training");
    std::vector<ShardSum> sums;
    for (std::size_t s = 0; s < r.shards; ++s)
      if (room->counts[s] != 0)
        sums.push_back({s, static_cast<std::size_t>(room->counts[s]),
                        std::span(room->gradients).subspan(s * r.gradient_bytes, r.gradient_bytes), room->losses[s]});
    return sums;
  };
}

Result<TrainOptions> options_of(const loom_training_options& given, const CancelOf& cancel) {
  TrainOptions out;
  if (given.out != nullptr) out.out = given.out;
  if (given.folder != nullptr) out.folder = given.folder;
  LOOM_TRY(out.start, run_start_of(given.start));
  out.epochs = given.epochs;
  LOOM_TRY_VOID(read_compute(given.compute, out.session));
  out.progress = callback_of(given);
  out.cancel = cancel.flag();
  out.shards = source_of(given);
  return out;
}

RawArray array_of(const ConstView& values) {
  RawArray out;
  out.dtype = values.element == Element::f64 ? DType::float64 : DType::float32;
  out.shape.assign(values.shape.extents().begin(), values.shape.extents().end());
  out.bytes = {values.as<std::byte>(), bytes_of(values)};
  return out;
}

// Samples of a caller, which last during the call.
Result<SampleArrays> arrays_of(const loom_batch* batch) {
  LOOM_TRY(const Samples given, samples_of(batch));
  SampleArrays out;
  out.inputs = array_of(given.inputs);
  if (given.classes.empty()) {
    out.targets = array_of(given.values);
    return out;
  }
  const std::size_t each = given.classes.size() / given.size();
  out.targets.shape = {given.size()};
  if (each != 1) out.targets.shape.push_back(each);
  out.targets.dtype = DType::int32;
  out.targets.bytes = std::as_bytes(given.classes);
  return out;
}

Result<TrainingInput> input_of(const loom_batch* samples, const loom_batch* validation) {
  TrainingInput out;
  if (samples == nullptr) {
    if (validation != nullptr) return fail(Code::InvalidArgument, "validation without samples");
    return out;
  }
  out.samples.emplace();
  LOOM_TRY(out.samples->training, arrays_of(samples));
  if (validation != nullptr) {
    LOOM_TRY(out.samples->validation, arrays_of(validation));
  }
  return out;
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_training_run(const void* config, size_t config_size, loom_network network, const loom_batch* samples,
                              const loom_batch* validation, const loom_training_options* options, loom_blob* outcome) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(outcome));
    LOOM_TRY(const std::string_view text, need_bytes(config, config_size, "config"));
    LOOM_TRY(const Json json, parse_json(text));
    LOOM_TRY(const loom_training_options given, read_struct(options));
    LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
    LOOM_TRY(TrainOptions wanted, options_of(given, cancel));
    LOOM_TRY(TrainingInput input, input_of(samples, validation));
    std::optional<TakenNetwork<Writing>> taken;
    if (network != 0) {
      LOOM_TRY(auto one, take_network<Writing>(network));
      LOOM_TRY_VOID(need_values(one.network()));
      ++one.use->values;
      input.network = std::shared_ptr<Network>(one.use.shared(), &one.network());
      taken.emplace(std::move(one));
      wanted.begun = [&](TrainingRun& run) { taken->use->plans.forward = run.trainer().session().plan(); };
    }
    LOOM_TRY(const TrainOutcome done, train(json, wanted, std::move(input)));
    LOOM_TRY(*outcome, make_blob(to_json(done)));
    return {};
  });
}

loom_status loom_training_run_file(const char* path, const loom_training_options* options, loom_blob* outcome) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(outcome));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const loom_training_options given, read_struct(options));
    LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
    LOOM_TRY(const TrainOptions wanted, options_of(given, cancel));
    LOOM_TRY(const TrainOutcome done, train_file(std::string(name), wanted));
    LOOM_TRY(*outcome, make_blob(to_json(done)));
    return {};
  });
}

loom_status loom_training_replay(const char* path, const loom_training_options* options, loom_blob* report) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(report));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const loom_training_options given, read_struct(options));
    LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
    if (given.out != nullptr || given.start != LOOM_RUN_FRESH || given.epochs != 0 || given.shards != nullptr)
      return fail(Code::InvalidArgument, "out, start, epochs and shards of the options belong to a training");
    ReplayOptions wanted;
    if (given.folder != nullptr) wanted.folder = given.folder;
    LOOM_TRY_VOID(read_compute(given.compute, wanted.session));
    wanted.progress = callback_of(given);
    wanted.cancel = cancel.flag();
    LOOM_TRY(const ReplayReport found, replay_file(std::string(name), wanted));
    LOOM_TRY(*report, make_blob(to_json(found)));
    return {};
  });
}
