#include "pull/download.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <variant>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/system.h"
#include "pull/choice.h"
#include "pull/git_hash.h"

namespace loom::pull {
namespace {

// The hash that an ETag is: SHA-256 of a large file, git's of a small one, or none that is known.
class Hasher {
 public:
  Hasher(const std::string& etag, std::optional<std::uint64_t> bytes) {
    if (is_hex(etag, 64))
      hash_.emplace<Sha256>();
    else if (is_hex(etag, 40) && bytes)
      hash_.emplace<GitHash>(*bytes);
  }
  bool is_known() const { return hash_.index() != 0; }
  const char* name() const { return std::holds_alternative<Sha256>(hash_) ? "SHA-256" : "SHA-1 of git"; }
  void update(std::span<const std::byte> bytes) {
    if (auto* const sha = std::get_if<Sha256>(&hash_)) sha->update(bytes);
    if (auto* const git = std::get_if<GitHash>(&hash_)) git->update(bytes);
  }
  std::string finish() {
    if (auto* const sha = std::get_if<Sha256>(&hash_)) return to_hex(sha->finish());
    if (auto* const git = std::get_if<GitHash>(&hash_)) return git->finish();
    return {};
  }

 private:
  std::variant<std::monostate, Sha256, GitHash> hash_;
};

// ETAG.incomplete: what has come so far, with its hash.
class Part {
 public:
  Part(std::string path, const FileHead& head) : path_(std::move(path)), head_(head), hasher_(head.etag, head.bytes) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (file_ >= 0) os::close(file_);
  }

  // Opens what an earlier call has left, or nothing.
  Result<void> open(const DownloadOptions& options) {
    LOOM_TRY_VOID(read_old(options));
    if (file_ < 0) file_ = os::open(path_, os::Access::append_anew, 0666);
    if (file_ < 0) return os::error(path_, "cannot be created");
    return {};
  }

  Result<void> append(std::span<const std::byte> bytes) {
    if (head_.bytes && bytes.size() > *head_.bytes - done_)
      return fail(Code::CorruptData, "{} bytes and more came, expected {}", done_ + bytes.size(), *head_.bytes);
    hasher_.update(bytes);
    while (!bytes.empty()) {
      const std::int64_t n = os::write(file_, bytes);
      if (n <= 0) return os::error(path_, "cannot be written");
      done_ += static_cast<std::uint64_t>(n);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return {};
  }

  Result<void> restart() {
    if (!os::truncate(file_, 0)) return os::error(path_, "cannot be emptied");
    done_ = resumed_ = 0, hasher_ = Hasher(head_.etag, head_.bytes);
    return {};
  }

  Result<void> remove() {
    os::remove(path_.c_str());
    return {};
  }

  // Puts the whole file in place.
  Result<void> commit(const std::string& blob) {
    if (!os::flush(file_)) return os::error(path_, "cannot be flushed to the disk");
    if (!os::rename(path_, blob)) return os::error(blob, "cannot be created");
    return sync_folder_of(blob);
  }

  std::uint64_t done() const { return done_; }
  std::uint64_t resumed() const { return resumed_; }
  bool is_whole() const { return head_.bytes && done_ == *head_.bytes; }
  Hasher& hasher() { return hasher_; }

 private:
  // Hashes the bytes of an earlier call. A part that is longer than the file is dropped.
  Result<void> read_old(const DownloadOptions& options) {
    const auto old = os::info(path_);
    if (!old || !old->is_file || old->bytes == 0 || !head_.bytes || old->bytes > *head_.bytes) return {};
    const int in = os::open(path_, os::Access::read);
    if (in < 0) return {};
    std::array<std::byte, std::size_t{1} << 16> buffer{};
    std::int64_t n = 0;
    while ((n = os::read(in, buffer)) > 0 && !options.cancel->load(std::memory_order_relaxed)) {
      hasher_.update(std::span(buffer).first(static_cast<std::size_t>(n)));
      done_ += static_cast<std::uint64_t>(n);
      options.progress(done_);
    }
    os::close(in);
    if (n > 0) return fail(Code::Cancelled, "interrupted");
    file_ = n == 0 && done_ <= *head_.bytes ? os::open(path_, os::Access::append) : -1;
    if (file_ < 0) done_ = 0, hasher_ = Hasher(head_.etag, head_.bytes);
    resumed_ = done_;
    return {};
  }

  std::string path_;
  FileHead head_;
  Hasher hasher_;
  int file_ = -1;
  std::uint64_t done_ = 0, resumed_ = 0;
};

// Whether the cache has a whole blob.
bool has_blob(const HubCache& cache, const FileHead& head) {
  const auto info = os::info(cache.blob(head.etag));
  return info && info->is_file && (!head.bytes || info->bytes == *head.bytes);
}

Result<void> need_disk(const std::string& folder, std::uint64_t bytes) {
  std::error_code why;
  const std::filesystem::space_info space = std::filesystem::space(path_of(folder), why);
  if (why || space.available >= bytes) return {};
  return fail(Code::DiskFull, "{}: {} are needed, {} are free on that disk", folder, size_text(bytes),
              size_text(space.available));
}

// The head has to agree with the list of files.
Result<void> compare(const FileHead& head, const RemoteFile& file) {
  if (file.bytes && head.bytes && *file.bytes != *head.bytes)
    return fail(Code::CorruptData, "the hub lists {} bytes and answers with {}", *file.bytes, *head.bytes);
  const bool is_same_kind = is_hex(head.etag, file.hash.size());
  if (!file.hash.empty() && is_same_kind && file.hash != head.etag)
    return fail(Code::CorruptData, "the hub lists the hash {} and answers with {}", file.hash, head.etag);
  return {};
}

class Download {
 public:
  Download(HubClient& client, const RemoteFile& file, const FileHead& head, Part& part, const DownloadOptions& options)
      : client_(client), file_(file), head_(head), part_(part), options_(options) {}

  // Fetches what the part lacks. An attempt that brought bytes does not count as a failed one.
  Result<void> run() {
    for (int attempt = 1; !part_.is_whole();) {
      const std::uint64_t before = received_;
      const auto answer = fetch();
      if (answer && !head_.bytes) return {};  // the end of the answer is the end of the file
      WebFailure failure;
      if (answer)
        failure = short_answer();
      else
        failure = answer.error();
      if (!answer && failure.error.code == Code::Cancelled) return tl::make_unexpected(failure.error);
      if (part_.is_whole()) return {};
      if (failure.status == 416) LOOM_TRY_VOID(part_.restart());  // the server knows no such range: from the beginning
      if (received_ > before) attempt = 1;
      LOOM_TRY_VOID(client_.wait_after(failure, attempt++));
    }
    return {};
  }
  std::uint64_t received() const { return received_; }

 private:
  tl::expected<WebAnswer, WebFailure> fetch() {
    WebSink sink;
    sink.begin = [this](const WebAnswer& answer) { return begin(answer); };
    sink.data = [this](std::span<const std::byte> bytes) -> Result<void> {
      LOOM_TRY_VOID(part_.append(bytes));
      received_ += bytes.size();
      options_.progress(part_.done());
      return {};
    };
    const std::string range = part_.done() == 0 ? std::string() : fmt::format("{}-", part_.done());
    return client_.get(options_.model, options_.commit, file_.path, range, head_.etag, sink);
  }

  // An answer of 200 to a request for a range is the whole file.
  Result<void> begin(const WebAnswer& answer) {
    if (answer.status == 206) {
      const auto range = read_content_range(answer.header("content-range"));
      if (!range || range->first != part_.done() || (head_.bytes && range->all != *head_.bytes))
        return fail(Code::CorruptData, "asked for the bytes from {} of {}, got the range \"{}\"", part_.done(),
                    head_.bytes.value_or(0), answer.header("content-range"));
      return {};
    }
    if (answer.status != 200)
      return fail(Code::IoError, "{}: status {}, expected 200 or 206", file_.path, answer.status);
    const auto length = read_count(answer.header("content-length"));
    if (length && head_.bytes && *length != *head_.bytes)
      return fail(Code::CorruptData, "the answer has {} bytes, expected {}", *length, *head_.bytes);
    return part_.done() == 0 ? Result<void>() : part_.restart();
  }

  WebFailure short_answer() const {
    WebFailure out;
    out.error = {Code::IoError, fmt::format("{}/{}: the answer ended after {} of {} bytes", options_.model, file_.path,
                                            part_.done(), head_.bytes.value_or(0))};
    out.may_pass = true;
    return out;
  }

  HubClient& client_;
  const RemoteFile& file_;
  const FileHead& head_;
  Part& part_;
  const DownloadOptions& options_;
  std::uint64_t received_ = 0;
};

// Empty for the right hash, otherwise the one that the part has.
std::string wrong_hash(Part& part, const FileHead& head) {
  if (!part.hasher().is_known()) return {};
  const std::string found = part.hasher().finish();
  return found == head.etag ? std::string() : found;
}

}  // namespace

Result<Downloaded> download(HubClient& client, const HubCache& cache, const RemoteFile& file,
                            const DownloadOptions& options) {
  const std::string what = fmt::format("{}/{}", options.model, file.path);
  LOOM_TRY(const FileHead head, client.head(options.model, options.commit, file.path));
  if (const auto same = compare(head, file); !same) return at(what, same.error());
  Downloaded out;
  out.etag = head.etag;
  LOOM_TRY(const FileLock lock, FileLock::take(cache.lock_file(head.etag), *options.cancel, [&] {
             options.note(fmt::format("waiting for another process that fetches {}", what));
           }));
  if (has_blob(cache, head)) {
    out.bytes = os::info(cache.blob(head.etag))->bytes;
    options.progress(out.bytes);
    return out;
  }
  Part part(cache.part(head.etag), head);
  LOOM_TRY_VOID(part.open(options));
  if (head.bytes) LOOM_TRY_VOID(need_disk(cache.model_folder(), *head.bytes - part.done()));
  if (part.resumed() > 0)
    options.note(
        fmt::format("going on with {} after {} of {}", what, size_text(part.resumed()), size_text(*head.bytes)));
  Download work(client, file, head, part, options);
  for (;;) {
    if (auto done = work.run(); !done) {
      const bool is_damaged = done.error().code == Code::CorruptData;
      if (is_damaged) LOOM_TRY_VOID(part.remove());
      return is_damaged ? at(what, std::move(done).error()) : tl::make_unexpected(std::move(done).error());
    }
    const bool was_resumed = part.resumed() > 0;
    const std::string found = wrong_hash(part, head);
    if (found.empty()) break;
    if (!was_resumed) {
      LOOM_TRY_VOID(part.remove());
      return fail(Code::CorruptData, "{}: its {} is {}, expected {}; nothing of it was kept", what,
                  part.hasher().name(), found, head.etag);
    }
    // A part from before a crash may have lost bytes that had not reached the disk.
    options.note(fmt::format("{}: the part of an earlier download was damaged; fetching it again", what));
    LOOM_TRY_VOID(part.restart());
  }
  out.is_verified = part.hasher().is_known();
  out.bytes = part.done(), out.received = work.received();
  LOOM_TRY_VOID(part.commit(cache.blob(head.etag)));
  return out;
}

}  // namespace loom::pull
