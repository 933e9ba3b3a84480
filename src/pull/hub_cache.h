#pragma once
// The folders of huggingface_hub's cache, which both programs read and write:
//   models--ORG--NAME/blobs/ETAG                the bytes of a file
//   models--ORG--NAME/snapshots/COMMIT/PATH     a link to a blob
//   models--ORG--NAME/refs/REVISION             the commit of a branch or tag
//   .locks/models--ORG--NAME/ETAG.lock          held while a blob is written

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace loom::pull {

class HubCache {
 public:
  // `folder` is that of hub_cache() (lm/hub.h); it need not exist.
  HubCache(std::string folder, const std::string& org, const std::string& name);

  const std::string& model_folder() const { return model_; }
  std::string snapshot(const std::string& commit) const { return model_ + "/snapshots/" + commit; }
  std::string blob(const std::string& etag) const { return model_ + "/blobs/" + etag; }
  std::string part(const std::string& etag) const { return blob(etag) + ".incomplete"; }
  std::string lock_file(const std::string& etag) const;

  // Creates the folders of a model.
  Result<void> create(const std::string& commit) const;
  // Makes snapshots/COMMIT/PATH a link to a blob; an existing one is replaced in one step.
  Result<void> link(const std::string& commit, const std::string& path, const std::string& etag) const;
  // Writes refs/REVISION. A revision that is the commit itself has no such file.
  Result<void> set_revision(const std::string& revision, const std::string& commit) const;

 private:
  std::string folder_, folder_name_, model_;
};

// The lock of a file that only one process writes at a time.
class FileLock {
 public:
  // Waits for the holder, and calls `waiting` once before it does. Cancelled, IoError.
  static Result<FileLock> take(const std::string& path, const std::atomic<bool>& cancel,
                               const std::function<void()>& waiting);
  // InvalidState where another process holds it.
  static Result<FileLock> take_now(const std::string& path);
  FileLock(FileLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int file) : file_(file) {}
  int file_ = -1;
};

struct CachedSnapshot {
  std::string model;     // "ORG/NAME"
  std::string revision;  // branches and tags that lead to it, joined by ", "; empty for none
  std::string commit;
  std::string path;
  std::vector<std::pair<std::string, std::uint64_t>> files;  // by path; bytes of what the links lead to
  std::uint64_t bytes = 0;
  std::string kind;  // "gguf", "model", "encoder", "adapter", "onnx", "entity", "other"
};
// Every snapshot in the cache, by model and commit. A cache that does not exist has none.
Result<std::vector<CachedSnapshot>> snapshots_in(const std::string& cache);

struct CachedModel {
  std::string folder;
  std::uint64_t files = 0, bytes = 0;  // with blobs that no snapshot has and parts of downloads
};
// The folder of a model. NotFound; InvalidArgument for a link, which leads out of the cache.
Result<CachedModel> model_in(const std::string& cache, const std::string& org, const std::string& name);
// Removes a model from the cache, links before what they lead to. InvalidState while it is being fetched.
Result<void> remove_model(const std::string& cache, const std::string& org, const std::string& name);

}  // namespace loom::pull
