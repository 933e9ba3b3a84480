#include "host/finetune.h"

#include <algorithm>

#include "core/file.h"
#include "core/journal.h"
#include "core/json.h"
#include "core/system.h"

namespace loom {
namespace {

// The member of `json` at "schedule/warmup_steps".
Json& member(Json& json, const std::string& path) {
  const std::size_t slash = path.find('/');
  return slash == path.npos ? json[path] : json[path.substr(0, slash)][path.substr(slash + 1)];
}

// Takes options that were not given from the run's beginning.
Result<void> take_from_run(const FinetuneOptions& o, const std::string& journal, FinetuneOutcome& to) {
  LOOM_TRY(const FinetuneStart begun, read_finetune_start(journal));
  Json config = finetune_config_json(begun.config), wanted = finetune_config_json(o.config);
  for (const std::string& path : o.given) member(config, path) = member(wanted, path);
  LOOM_TRY(to.config, finetune_config_from_json(config));
  to.config.session = o.config.session;
  const auto take = [](std::string& mine, const std::string& its) {
    if (mine.empty()) mine = its;
  };
  take(to.sources.model, begun.sources.model), take(to.sources.text, begun.sources.text);
  take(to.sources.from, begun.sources.from), take(to.sources.dtype, begun.sources.dtype);
  return {};
}

// A run that was killed as it began has none: it starts over with the given options.
bool has_line(const std::string& journal) {
  auto lines = JournalReader::open(journal);
  return lines && lines->next().value_or(std::nullopt).has_value();
}

// Its end would write over what replay begins with.
Result<void> check_from(const FinetuneOptions& o, const std::string& from) {
  if (!from.empty() && os::is_same_file(from, o.out))
    return fail(Code::InvalidArgument,
                "{0}from {1}: the new adapter in {0}output would overwrite it; write to another folder", o.prefix,
                from);
  return {};
}

Result<void> check_settings(const FinetuneOptions& o, const FinetuneSources& sources) {
  LOOM_TRY_VOID(check_from(o, sources.from));
  for (const std::string& path : o.given)
    if (!sources.from.empty() && (path == "rank" || path == "alpha" || path == "targets"))
      return fail(Code::InvalidArgument, "{0}{1} has no effect with {0}from: the adapter there has its own", o.prefix,
                  path);
  if (!sources.model.empty() && !sources.text.empty()) return {};
  const bool is_lost = o.start == RunStart::resume;  // else the journal would name them
  return fail(Code::InvalidArgument, "{0}model and {0}text are expected{1}", o.prefix,
              is_lost ? fmt::format(": they are not in {}/run/journal.jsonl, since that file is missing", o.out) : "");
}

}  // namespace

Result<FinetuneOutcome> finetune_file(const FinetuneOptions& o) {
  FinetuneOutcome outcome{o.out, o.config, o.sources, {}};
  FinetuneRecord record;
  std::optional<FolderLock> lock;  // until the adapter is written
  record.lock = &lock, record.folder = o.out + "/run", record.start = o.start, record.cancel = o.cancel;
  LOOM_TRY_VOID(check_from(o, o.sources.from));  // before a run there is touched
  LOOM_TRY_VOID(check_folder(o.out, o.start, kAdapterRun));
  LOOM_TRY_VOID(check_start(record.folder, o.start, kFinetuningRun));
  if (is_directory(record.folder)) {  // before the model is read
    LOOM_TRY(RunFolder taken, take_folder(record.folder, o.start, kFinetuningRun));
    lock = std::move(taken.lock);
    const std::string journal = record.folder + "/journal.jsonl";
    if (taken.resumes || (o.start == RunStart::resume && has_line(journal)))
      LOOM_TRY_VOID(take_from_run(o, journal, outcome));
  }
  LOOM_TRY_VOID(check_settings(o, outcome.sources));
  if (o.look) LOOM_TRY_VOID(o.look(outcome.config, outcome.sources));
  LOOM_TRY(FinetuneInput input, open_finetune(outcome.sources, outcome.config));
  record.sources = outcome.sources;
  if (o.begun) o.begun(input);
  LOOM_TRY(outcome.result, finetune(input.model, *input.windows, outcome.config, o.progress, record));
  LOOM_TRY_VOID(save_peft(input.model, outcome.config.adapter, o.out, outcome.sources.model));
  return outcome;
}

Json to_json(const FinetuneOutcome& outcome) {
  const FinetuneResult& result = outcome.result;
  Json out{{"adapter", outcome.folder},
           {"stopped", result.stopped},
           {"steps", result.steps},
           {"new_steps", result.new_steps},
           {"tokens", result.tokens},
           {"losses", result.losses},
           {"validation_before", result.validation_before},
           {"validation_after", result.validation_after},
           {"adapter_parameters", result.adapter_parameters},
           {"scratch_bytes", result.scratch_bytes},
           {"hash", to_hex(result.hash)}};
  add_precision(out, result.precision);
  return out;
}

}  // namespace loom
