#pragma once
// Reports of what frameworks and Loom gave on one fixture (planetbridging's Report), kept as files and compared.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bridge/stream.h"
#include "core/mutex.h"

namespace loom {

struct BridgeReport {
  std::string bedrock, planet, model_id, stage, format, fixture_version;
  std::string text;  // the whole report as JSON
  JsonRows outputs;
};
using ReportPtr = std::shared_ptr<const BridgeReport>;

// One comparison of a pipeline: what came from the framework itself with another stage.
struct ReportPair {
  ReportPtr from, to;
  std::optional<OutputDifference> difference;  // absent: one is missing, or their shapes differ
};

class ReportStore {
 public:
  static constexpr std::size_t kMaxReports = 4096, kMaxBytes = std::size_t{256} << 20;

  // Reads folder/BEDROCK/*.json where it exists; files that are no reports are left alone. An empty name keeps reports
  // in memory alone. IoError.
  static Result<std::unique_ptr<ReportStore>> open(std::string folder);

  // Adds a report or replaces the one with the same `bedrock`, `planet`, `model`, `stage` and `format`; returns the
  // file's path. InvalidArgument unless it has `model` and `planet` (or `engine`); LimitExceeded beyond kMaxReports and
  // kMaxBytes. Sets `received_at`.
  Result<std::string> add(Json report);

  // In the order of `bedrock`, `model`, `planet`, `stage`, `format`; of one layer kind, or of all with "".
  std::vector<ReportPtr> reports(std::string_view bedrock = {}) const;
  ReportPtr native(const std::string& bedrock, const std::string& planet, const std::string& model) const;
  // Every stage but the native one, with the native one of its pipeline.
  std::vector<ReportPair> pairs(std::string_view bedrock) const;

  void keep_certificate(const std::string& bedrock, const std::string& planet, const std::string& model, Json text);
  // Null when there is none.
  std::shared_ptr<const Json> certificate(const std::string& bedrock, const std::string& planet,
                                          const std::string& model) const;

 private:
  using Key = std::array<std::string, 5>;  // `bedrock`, `model`, `planet`, `stage`, `format`
  explicit ReportStore(std::string folder) : folder_(std::move(folder)) {}
  void read_folder();
  Result<void> insert(const Key& key, ReportPtr report);

  std::string folder_;
  mutable Mutex lock_;  // held for a walk through the maps at most
  std::map<Key, ReportPtr> reports_;
  std::map<std::array<std::string, 3>, std::shared_ptr<const Json>> certificates_;
  std::size_t bytes_ = 0;
};

// `{fixture_version, report_count, models: [{model_id, pipelines: [{planet, steps, compare}]}]}`, steps without
// outputs.
Json comparison_json(const ReportStore& store, std::string_view bedrock);
std::string comparison_text(const ReportStore& store, std::string_view bedrock);
std::string progress_text(const ReportStore& store);
// All layer kinds as one page with a tab each, the named one in front.
std::string comparison_page(const ReportStore& store, std::string_view tab);
// The layer kinds that a page shows, those of planetbridging first.
std::vector<std::string_view> bedrock_tabs();

}  // namespace loom
