// pull, list, rm: models of a hub in the cache of huggingface_hub.

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "cli/console.h"
#include "core/json.h"
#include "core/nearest.h"
#include "lm/hub.h"
#include "pull/choice.h"
#include "pull/hub_cache.h"
#include "pull/pull.h"

namespace loom::cli {
namespace {

struct HubFlags {
  CommonOptions common;
  std::string model, cache;
  bool is_sure = false;
  pull::PullOptions pull;
};

std::string cache_of(const HubFlags& o) { return o.cache.empty() ? hub_cache() : o.cache; }

// ORG/NAME, with a choice after ':' where `may_choose`.
Result<HubId> id_of(const HubFlags& o, bool may_choose) {
  HubId id = hub_id(o.model);
  if (id.name.empty() || !id.below.empty() || (!may_choose && !id.choice.empty()))
    return fail(Code::InvalidArgument, "{}: expected the id of a model, as {}", printable(o.model),
                may_choose ? "ORG/NAME, ORG/NAME:QUANTISATION or ORG/NAME:FILE" : "ORG/NAME");
  return id;
}

Json files_of(const pull::Pulled& pulled) {
  Json files = Json::array();
  for (const pull::PulledFile& file : pulled.files)
    files.push_back(Json{{"path", file.path},
                         {"bytes", file.download.bytes},
                         {"received", file.download.received},
                         {"etag", file.download.etag},
                         {"verified", file.download.is_verified}});
  return files;
}

Result<int> run_pull(HubFlags& o) {
  LOOM_TRY(const HubId id, id_of(o, true));
  if (o.pull.fit && !id.choice.empty())
    return fail(Code::InvalidArgument, "--fit chooses the file: give ORG/NAME without \":{}\"", printable(id.choice));
  watch_interrupts();
  pull::PullOptions& options = o.pull;
  options.org = id.org, options.name = id.name, options.wanted = id.choice;
  options.cache = cache_of(o), options.cancel = &interrupt_flag();
  options.note = [&](const std::string& line) {
    if (!o.common.quiet) std::fprintf(stderr, "%s", stderr_is_terminal() ? "\r\033[K" : "");
    remark(o.common, line);
  };
  pull::Pulled pulled;
  {
    Progress bar("pulling " + o.model, o.common.quiet);
    std::optional<std::uint64_t> first;  // bytes in the cache at the beginning
    const auto begin = std::chrono::steady_clock::now();
    options.progress = [&](const std::string& file, std::uint64_t bytes, std::uint64_t all) {
      if (!first) first = bytes;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const auto rate =
          static_cast<std::uint64_t>(static_cast<double>(bytes - std::min(*first, bytes)) / (seconds + 1e-3));
      bar.update(
          static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(all, 1)),
          fmt::format("{} of {}, {}/s, {}", pull::size_text(bytes), pull::size_text(all), pull::size_text(rate), file));
    };
    LOOM_TRY(pulled, pull::pull_model(options));
  }
  std::uint64_t bytes = 0, received = 0;
  for (const pull::PulledFile& file : pulled.files) bytes += file.download.bytes, received += file.download.received;
  if (o.common.json) {
    print_json(Json{{"model", id.org + "/" + id.name},
                    {"revision", options.revision},
                    {"commit", pulled.commit},
                    {"chosen", pulled.words},
                    {"path", pulled.path},
                    {"bytes", bytes},
                    {"received", received},
                    {"files", files_of(pulled)}});
    return kOk;
  }
  remark(o.common, received == 0 ? "every file was in the cache already"
                                 : fmt::format("{} in {} files, {} received", pull::size_text(bytes),
                                               pulled.files.size(), pull::size_text(received)));
  std::printf("%s\n", pulled.path.c_str());
  return kOk;
}

Result<int> run_list(const HubFlags& o) {
  const std::string cache = cache_of(o);
  LOOM_TRY(const auto snapshots, pull::snapshots_in(cache));
  if (o.common.json) {
    Json models = Json::array();
    for (const pull::CachedSnapshot& s : snapshots) {
      Json files = Json::array();
      for (const auto& [path, bytes] : s.files) files.push_back(Json{{"path", path}, {"bytes", bytes}});
      models.push_back(Json{{"model", s.model},
                            {"revision", s.revision},
                            {"commit", s.commit},
                            {"kind", s.kind},
                            {"bytes", s.bytes},
                            {"path", s.path},
                            {"files", std::move(files)}});
    }
    print_json(Json{{"cache", cache}, {"models", std::move(models)}});
    return kOk;
  }
  if (snapshots.empty()) remark(o.common, fmt::format("{} has no models; loom pull ORG/NAME fetches one", cache));
  std::size_t width = 5;
  for (const pull::CachedSnapshot& s : snapshots) width = std::max(width, s.model.size());
  if (!snapshots.empty())
    std::printf("%-*s  %-8s  %10s  %-12s  %s\n", static_cast<int>(width), "model", "kind", "size", "revision", "files");
  for (const pull::CachedSnapshot& s : snapshots) {
    std::string files = fmt::format("{} files", s.files.size());
    if (s.files.size() == 1) files = s.files[0].first;
    std::printf("%-*s  %-8s  %10s  %-12s  %s\n", static_cast<int>(width), printable(s.model).c_str(), s.kind.c_str(),
                pull::size_text(s.bytes).c_str(),
                printable(s.revision.empty() ? s.commit.substr(0, 12) : s.revision).c_str(), printable(files).c_str());
  }
  return kOk;
}

Result<int> run_rm(const HubFlags& o) {
  LOOM_TRY(const HubId id, id_of(o, false));
  const std::string cache = cache_of(o);
  LOOM_TRY(const pull::CachedModel model, pull::model_in(cache, id.org, id.name));
  const std::string what = fmt::format("{} ({} files, {})", model.folder, model.files, pull::size_text(model.bytes));
  if (!o.is_sure) {
    if (!is_terminal(kInput)) return fail(Code::InvalidArgument, "{}: --yes removes it without a question", what);
    std::fprintf(stderr, "remove %s? [y/N] ", what.c_str());
    std::string line;
    std::getline(std::cin, line);
    if (line != "y" && line != "Y" && line != "yes") {
      remark(o.common, "nothing was removed");
      return kFailed;
    }
  }
  LOOM_TRY_VOID(pull::remove_model(cache, id.org, id.name));
  remark(o.common, "removed " + what);
  return kOk;
}

void add_hub_flags(CLI::App& app, HubFlags& o) {
  add_path(app, "--cache", o.cache, "Folder of the cache (default: HF_HUB_CACHE, or hub in HF_HOME)");
  app.add_flag("-q,--quiet", o.common.quiet, "No progress bars and notes on stderr");
}

}  // namespace

Run pull_command(CLI::App& app) {
  auto o = std::make_shared<HubFlags>();
  app.footer(
      "loom pull is the only command that connects to a network. It fetches into the cache of\n"
      "huggingface_hub, whose settings it reads: HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN.\n"
      "The path on stdout is what other commands take: loom generate $(loom pull ORG/NAME) -p Hello");
  app.add_option("MODEL", o->model, "ORG/NAME, ORG/NAME:QUANTISATION as in :Q4_K_M, or ORG/NAME:FILE")
      ->required()
      ->check(not_empty());
  app.add_option("--revision", o->pull.revision, "Branch, tag or commit")->capture_default_str()->check(not_empty());
  app.add_option("--base-url", o->pull.base_url, "Address of the hub (default: HF_ENDPOINT, or https://huggingface.co)")
      ->check(not_empty());
  auto* const fit = app.add_flag("--fit", o->pull.fit, "Take the largest GGUF file that fits into free memory");
  app.add_option("--ctx", o->pull.fit_context, "Positions of context that --fit counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 24))
      ->needs(fit);
  app.add_option("--memory", o->pull.fit_memory, "Bytes that --fit may use: 6G, 500M, .. (default: what is free)")
      ->transform(CLI::AsSizeValue(false))
      ->needs(fit);
  app.add_option("--attempts", o->pull.attempts,
                 "Attempts of a request that fails, and of a download that stands still")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  app.add_flag("--json", o->common.json, "Print what was fetched as one JSON object");
  add_hub_flags(app, *o);
  return [o] { return finish(run_pull(*o)); };
}

Run list_command(CLI::App& app) {
  auto o = std::make_shared<HubFlags>();
  app.footer("Models that huggingface_hub has fetched are listed, too: both use one cache.");
  app.add_flag("--json", o->common.json, "One JSON object on stdout, with every file");
  add_hub_flags(app, *o);
  return [o] { return finish(run_list(*o)); };
}

Run rm_command(CLI::App& app) {
  auto o = std::make_shared<HubFlags>();
  app.add_option("MODEL", o->model, "ORG/NAME of a model in the cache")->required()->check(not_empty());
  app.add_flag("--yes", o->is_sure, "Do not ask");
  add_hub_flags(app, *o);
  return [o] { return finish(run_rm(*o)); };
}

}  // namespace loom::cli
