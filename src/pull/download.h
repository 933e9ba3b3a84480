#pragma once
// One file of a repository, from the hub into a blob of the cache.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "pull/hub_cache.h"
#include "pull/hub_client.h"

namespace loom::pull {

struct DownloadOptions {
  std::string model, commit;  // "ORG/NAME"
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(const std::string&)> note;       // lines for a person
  std::function<void(std::uint64_t bytes)> progress;  // bytes of the file that are in the cache
};

struct Downloaded {
  std::string etag;
  std::uint64_t bytes = 0;
  std::uint64_t received = 0;  // bytes that came over the network; 0: the cache had the file
  bool is_verified = false;    // its hash is the one that the hub reports
};

// Fetches a file unless the cache has it. The bytes are appended to blobs/ETAG.incomplete, which the next call goes on
// with after an interruption, and become blobs/ETAG in one step when size and hash are right. Errors: those of the
// client; CorruptData for a wrong size or hash, whose part is removed; DiskFull; Cancelled.
Result<Downloaded> download(HubClient& client, const HubCache& cache, const RemoteFile& file,
                            const DownloadOptions& options);

}  // namespace loom::pull
