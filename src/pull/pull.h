#pragma once
// Fetches a model from a hub into huggingface_hub's cache.

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "pull/download.h"

namespace loom::pull {

struct PullOptions {
  std::string org, name;
  std::string wanted;                // path of a file or a quantisation; empty: the usual files
  std::string revision = "main";     // branch, tag or commit
  std::string base_url;              // empty: HF_ENDPOINT, or https://huggingface.co
  std::string cache;                 // folder of huggingface_hub's cache
  bool fit = false;                  // the largest GGUF that fits into free memory
  std::uint64_t fit_context = 4096;  // positions that `fit` counts, unless the model has fewer
  std::uint64_t fit_memory = 0;      // bytes; 0: what the system has free
  int attempts = 5;                  // of a request, before it has failed
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(const std::string&)> note;
  // Called often. `bytes` of `all` are in the cache; `file` is the one under way.
  std::function<void(const std::string& file, std::uint64_t bytes, std::uint64_t all)> progress;
};

struct PulledFile {
  std::string path;
  Downloaded download;
};
struct Pulled {
  std::string commit;
  std::string path;   // what other commands take: the snapshot's folder, or a file
  std::string words;  // what was chosen and why
  std::vector<PulledFile> files;
};

// Links in the snapshot and the revision's file are written after every blob is whole, so that nobody finds a part of a
// model. NotFound, IoError, CorruptData, DiskFull, Unsupported, Cancelled.
Result<Pulled> pull_model(const PullOptions& options);

}  // namespace loom::pull
