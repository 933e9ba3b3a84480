// A fine-tuning run in its journal: settings and sources in JSON, and replay of the run.

#include "core/config_reader.h"
#include "core/config_writer.h"
#include "finetune/finetune.h"
#include "lm/language_model.h"
#include "training/config_fields.h"

namespace loom {
namespace {

void finetune_fields(ConfigVisitor& visit, FinetuneConfig& c) {
  visit("name", c.adapter.name);
  visit("rank", c.adapter.rank, kAnySize);
  visit("alpha", c.adapter.alpha);
  visit("targets", c.adapter.targets);
  visit("length", c.length, kAnySize);
  visit("batch", c.batch_size, kAnySize);
  visit("micro_batch", c.micro_batch, kAnySize);
  visit("epochs", c.epochs, kAnySize);
  visit("steps", c.steps, kAnySize);
  visit("validation_split", c.validation_split);
  visit("validation_windows", c.validation_windows, kAnySize);
  visit("seed", c.seed, kAnySize);
  visit("learning_rate", c.schedule.learning_rate);
  visit("clip_norm", c.clip_norm);
  visit("hash_steps", c.hash_steps, kAnySize);
  visit.object("optimizer",
               [&](ConfigVisitor& inner) { inner("name", c.optimizer.name), optimizer_fields(inner, c.optimizer); });
  visit.object("schedule", [&](ConfigVisitor& inner) {
    inner("name", c.schedule.name), inner("size", c.schedule.size, kAnySize);
    schedule_fields(inner, c.schedule);
  });
}

void source_fields(ConfigVisitor& visit, FinetuneSources& sources) {
  visit("model", sources.model);
  visit("text", sources.text);
  visit("from", sources.from);
  visit("dtype", sources.dtype);
}

// `path` below `folder`, unless it stands for itself.
std::string below(const std::string& folder, const std::string& path) {
  return folder.empty() || path.empty() || path.front() == '/' ? path : folder + "/" + path;
}

}  // namespace

Json finetune_config_json(const FinetuneConfig& config) {
  FinetuneConfig c = config;  // fields are visited as variables
  return written_config([&](ConfigVisitor& visit) { finetune_fields(visit, c); });
}

Result<FinetuneConfig> finetune_config_from_json(const Json& json) {
  FinetuneConfig c;
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& visit) { finetune_fields(visit, c); }));
  return c;
}

Result<FinetuneInput> open_finetune(const FinetuneSources& sources, FinetuneConfig& config) {
  LOOM_TRY(const std::string text, read_text_file(sources.text));
  LOOM_TRY(const auto pool, ThreadPool::given_or_new(config.session.pool, config.session.threads));
  LOOM_TRY(ModelContents contents, read_model(sources.model));
  if (!contents.adapters.empty())
    return fail(Code::Unsupported, "{}: brings adapters beside its weights; a fine-tuning begins with a model alone",
                sources.model);
  DecoderOptions options;
  if (!sources.dtype.empty()) {
    LOOM_TRY(options.dtype, dtype_from_name(sources.dtype));
  }
  LOOM_TRY(DecoderModel model, build_decoder(contents.source, *pool, options));
  LOOM_TRY(const auto tokenizer, load_tokenizer(sources.model));
  std::vector<std::int32_t> ids;
  if (auto encoded = tokenizer->encode(text, {.add_special_tokens = false, .parse_special = false}, ids); !encoded)
    return at(sources.model, std::move(encoded).error());
  LOOM_TRY(auto windows, TokenWindows::create(std::move(ids), config.length,
                                              static_cast<std::size_t>(model.config.vocab_size), sources.text));
  if (!sources.from.empty()) {
    LOOM_TRY(config.adapter, load_peft(model, sources.from, config.adapter.name));
  }
  return FinetuneInput{std::move(model), std::move(windows)};
}

Result<FinetuneStart> read_finetune_start(const std::string& journal) {
  LOOM_TRY(const Json first, read_journal_start(journal));
  const Json *task = find(first, "task"), *config = find(first, "config"), *sources = find(first, "sources");
  if (task == nullptr || *task != "finetune" || config == nullptr || sources == nullptr)
    return fail(Code::CorruptData, "{}: the first line is no start of a fine-tuning", journal);
  auto read = finetune_config_from_json(*config);
  if (!read) return at(journal, std::move(read.error().under({"config"})));
  FinetuneStart start{std::move(*read), {}};
  auto done = read_config(*sources, [&](ConfigVisitor& visit) { source_fields(visit, start.sources); }, {"sources"});
  if (!done) return at(journal, std::move(done).error());
  return start;
}

bool is_finetune_journal(const std::string& path) {
  const auto first = read_journal_start(path);
  const Json* task = first ? find(*first, "task") : nullptr;
  return task != nullptr && *task == "finetune";
}

Result<ReplayReport> replay_finetune(const std::string& journal, const std::string& folder,
                                     const NetworkSessionOptions& session, const FinetuneCallback& progress) {
  LOOM_TRY(JournalProof proof, JournalProof::open(journal));
  LOOM_TRY(FinetuneStart start, read_finetune_start(journal));
  for (std::string* path : {&start.sources.model, &start.sources.text, &start.sources.from})
    *path = below(folder, *path);
  start.config.session = session;
  LOOM_TRY(FinetuneInput input, open_finetune(start.sources, start.config));
  FinetuneRecord record;
  record.on_journal = [&](const Json& line) { return proof.compare(line); };
  const auto callback = [&](const FinetuneProgress& p) -> Result<Continue> {
    if (progress) {
      LOOM_TRY(const Continue going, progress(p));
      if (going == Continue::stop) return fail(Code::Cancelled, "the replay was stopped at step {}", p.step);
    }
    return proof.complete() ? Continue::stop : Continue::yes;  // of an unfinished run
  };
  LOOM_TRY(const FinetuneResult result, finetune(input.model, *input.windows, start.config, callback, record));
  LOOM_TRY_VOID(proof.finish());
  return ReplayReport{proof.compared(), result.steps, result.hash};
}

}  // namespace loom
