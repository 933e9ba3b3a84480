#pragma once
// A fine-tuning with its folder, as `loom finetune` runs it: the adapter in PEFT's format, and below it the run's
// journal and checkpoint, from which it goes on and by which it is proved (host/train.h, replay_file()).

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.h"
#include "finetune/finetune.h"

namespace loom {

struct FinetuneOptions {
  std::string out{};  // folder of the adapter
  RunStart start = RunStart::fresh;
  FinetuneSources sources{};  // what is empty is, in a run that goes on, as it was
  FinetuneConfig config{};
  // Members of finetune_config_json(), as "rank" or "schedule/warmup_steps", that count although a run goes on; of the
  // others it takes those that it began with.
  std::vector<std::string> given{};
  std::string_view prefix{};  // of settings in messages: "--" on a command line
  // Called when all settings are known and before the model is read; an error ends the call.
  std::function<Result<void>(const FinetuneConfig&, const FinetuneSources&)> look{};
  std::function<void(const FinetuneInput&)> begun{};  // when all is open, before the first step
  FinetuneCallback progress{};
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: the step that runs is dropped, and the run stops
};

struct FinetuneOutcome {
  std::string folder;
  FinetuneConfig config;    // that the run had
  FinetuneSources sources;  // likewise
  FinetuneResult result;
};

// InvalidArgument without model or text, for settings of an adapter beside one that learns on, and for a folder that
// the new adapter would overwrite; errors of take_folder(), open_finetune(), finetune() and save_peft().
Result<FinetuneOutcome> finetune_file(const FinetuneOptions& options);
Json to_json(const FinetuneOutcome& outcome);

}  // namespace loom
