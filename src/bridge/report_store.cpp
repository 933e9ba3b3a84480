#include "bridge/report_store.h"

#include <algorithm>

#include "bridge/payload_layers.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/json.h"

namespace loom {
namespace {

constexpr std::size_t kMaxReportFile = std::size_t{32} << 20;

std::string member_text(const Json& report, std::string_view key, std::string_view absent) {
  const Json* given = find(report, key);
  const std::string* text = given == nullptr ? nullptr : as_string(*given);
  return text == nullptr || text->empty() ? std::string(absent) : *text;
}

// Checked names, and the outputs as numbers.
Result<BridgeReport> read_report(const Json& json) {
  if (!json.is_object()) return fail(Code::InvalidArgument, "a report is an object");
  BridgeReport report;
  const auto name = [&](std::string_view key, std::string_view absent) {
    return safe_file_name(member_text(json, key, absent), key);
  };
  LOOM_TRY(report.bedrock, name("bedrock", "dense"));
  LOOM_TRY(report.model_id, name("model_id", ""));
  LOOM_TRY(report.planet, name("planet", member_text(json, "engine", "")));
  LOOM_TRY(report.stage, name("stage", "native"));
  LOOM_TRY(report.format, name("format", "native"));
  LOOM_TRY(report.fixture_version, name("fixture_version", "none"));
  if (const Json* outputs = find(json, "outputs"); outputs != nullptr && outputs->is_array() && !outputs->empty()) {
    LOOM_TRY(report.outputs, rows_from_json(*outputs, {"outputs"}));
  }
  return report;
}

// Names in a folder, in their order; none where it cannot be read.
std::vector<std::string> names_in(const std::string& folder) {
  auto names = visible_names_in(folder);
  return names ? *std::move(names) : std::vector<std::string>();
}

}  // namespace

Result<std::unique_ptr<ReportStore>> ReportStore::open(std::string folder) {
  if (!folder.empty()) LOOM_TRY_VOID(create_folders(folder));
  std::unique_ptr<ReportStore> store(new ReportStore(std::move(folder)));
  if (!store->folder_.empty()) store->read_folder();
  return store;
}

void ReportStore::read_folder() {
  for (const std::string& bedrock : names_in(folder_))
    for (const std::string& file : names_in(folder_ + "/" + bedrock)) {
      if (!file.ends_with(".json")) continue;
      auto text = read_text_file(fmt::format("{}/{}/{}", folder_, bedrock, file), kMaxReportFile);
      if (!text) continue;
      const auto json = parse_json(*text);
      if (!json) continue;
      auto report = read_report(*json);
      if (!report || report->bedrock != bedrock) continue;
      report->text = std::move(*text);
      const Key key = {report->bedrock, report->model_id, report->planet, report->stage, report->format};
      if (!insert(key, std::make_shared<const BridgeReport>(std::move(*report)))) return;
    }
}

Result<void> ReportStore::insert(const Key& key, ReportPtr report) {
  const Mutex::Guard guard(lock_);
  const auto old = reports_.find(key);
  const std::size_t replaced = old == reports_.end() ? 0 : old->second->text.size();
  if (bytes_ - replaced + report->text.size() > kMaxBytes || (old == reports_.end() && reports_.size() == kMaxReports))
    return fail(Code::LimitExceeded, "at most {} reports of {} bytes together are kept", kMaxReports, kMaxBytes);
  bytes_ += report->text.size() - replaced;
  reports_[key] = std::move(report);
  return {};
}

Result<std::string> ReportStore::add(Json json) {
  LOOM_TRY(BridgeReport report, read_report(json));
  json["bedrock"] = report.bedrock, json["planet"] = report.planet;
  json["received_at"] = utc_text();
  report.text = dump_json(json);
  const Key key = {report.bedrock, report.model_id, report.planet, report.stage, report.format};
  const std::string folder = folder_ + "/" + report.bedrock;
  std::string path =
      fmt::format("{}/{}__{}__{}__{}.json", folder, report.planet, report.model_id, report.stage, report.format);
  const auto kept = std::make_shared<const BridgeReport>(std::move(report));
  LOOM_TRY_VOID(insert(key, kept));
  if (folder_.empty()) return std::string();
  LOOM_TRY_VOID(create_folders(folder));
  LOOM_TRY_VOID(write_file_atomically(path, std::as_bytes(std::span(kept->text))));
  return path;
}

std::vector<ReportPtr> ReportStore::reports(std::string_view bedrock) const {
  const Mutex::Guard guard(lock_);
  std::vector<ReportPtr> out;
  for (const auto& [key, report] : reports_)
    if (bedrock.empty() || key[0] == bedrock) out.push_back(report);
  return out;
}

ReportPtr ReportStore::native(const std::string& bedrock, const std::string& planet, const std::string& model) const {
  const Mutex::Guard guard(lock_);
  for (auto at = reports_.lower_bound({bedrock, model, planet, "native", ""}); at != reports_.end(); ++at) {
    const Key& key = at->first;
    if (key[0] != bedrock || key[1] != model || key[2] != planet || key[3] != "native") break;
    if (at->second->outputs.count > 0) return at->second;
  }
  return nullptr;
}

std::vector<ReportPair> ReportStore::pairs(std::string_view bedrock) const {
  std::vector<ReportPair> out;
  for (const ReportPtr& report : reports(bedrock)) {
    if (report->stage == "native") continue;
    ReportPair pair{native(report->bedrock, report->planet, report->model_id), report, {}};
    if (pair.from != nullptr)
      if (const auto difference = difference_of(pair.from->outputs, report->outputs)) pair.difference = *difference;
    out.push_back(std::move(pair));
  }
  return out;
}

void ReportStore::keep_certificate(const std::string& bedrock, const std::string& planet, const std::string& model,
                                   Json certificate) {
  const Mutex::Guard guard(lock_);
  if (certificates_.size() >= kMaxReports) certificates_.erase(certificates_.begin());
  certificates_[{bedrock, planet, model}] = std::make_shared<const Json>(std::move(certificate));
}

std::shared_ptr<const Json> ReportStore::certificate(const std::string& bedrock, const std::string& planet,
                                                     const std::string& model) const {
  const Mutex::Guard guard(lock_);
  const auto found = certificates_.find({bedrock, planet, model});
  return found == certificates_.end() ? nullptr : found->second;
}

std::vector<std::string_view> bedrock_tabs() {
  // planetbridging's thirteen end with the mixer; kinds that only stand inside of a mixer have no tab.
  constexpr std::size_t kFirst = 12;
  const auto kinds = payload_kinds();
  std::vector<std::string_view> tabs(kinds.begin(), kinds.begin() + kFirst);
  tabs.push_back("mixer");
  for (const std::string_view kind : kinds.subspan(kFirst))
    if (kind != "reshape" && kind != "activation") tabs.push_back(kind);
  tabs.push_back("network");
  return tabs;
}

}  // namespace loom
