#include "host/content_hash.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <vector>

#include "core/file.h"
#include "core/file_stamp.h"
#include "core/folder.h"
#include "core/mutex.h"
#include "io/entity/entity.h"

namespace loom {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 24;

Result<Digest> hash_of_bytes(std::span<const std::byte> bytes, const std::atomic<bool>* cancel) {
  Sha256 hash;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return fail(Code::Cancelled, "cancelled");
    hash.update(bytes.subspan(at, std::min(kPiece, bytes.size() - at)));
  }
  return hash.finish();
}

// "<size> <number> <modified> <changed>": equal for a file that has not changed.
std::string stamp_of(const os::FileStamp& info) {
  return fmt::format("{} {} {} {}", info.bytes, info.id, info.modified_ns, info.changed_ns);
}

// A file that was changed a moment ago may change once more within one tick of the disk's clock.
bool is_settled(const os::FileStamp& info) {
  constexpr std::int64_t kSettled = 2'000'000'000;
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return info.id != 0 && now - std::max(info.modified_ns, info.changed_ns) > kSettled;
}

// The hashes of files by their stamps: a line "<hash> <stamp>" each, in a file of the user's cache folder.
class RememberedHashes {
 public:
  static RememberedHashes& instance() {
    static RememberedHashes hashes;
    return hashes;
  }

  std::string find(const std::string& stamp) {
    const Mutex::Guard lock(mutex_);
    read();
    const auto found = hashes_.find(stamp);
    return found == hashes_.end() ? std::string() : found->second;
  }

  void add(const std::string& stamp, const std::string& hash) {
    const Mutex::Guard lock(mutex_);
    read();
    if (hashes_.size() >= kMost) hashes_.clear();
    hashes_[stamp] = hash;
    const std::string file = file_name();
    if (file.empty() || !create_folders(file.substr(0, file.rfind('/')))) return;
    std::string text;
    for (const auto& [known, digest] : hashes_) text += fmt::format("{} {}\n", digest, known);
    (void)write_file_atomically(file, std::as_bytes(std::span(text)));  // without it the next call reads the file again
  }

 private:
  static constexpr std::size_t kMost = 1024, kDigits = 64;

  static std::string file_name() {
    const char* const cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/') return std::string(cache) + "/loom/hashes";
    const char* const home = std::getenv("HOME");
    return home != nullptr && *home == '/' ? std::string(home) + "/.cache/loom/hashes" : std::string();
  }

  // Reads the entries that another process has added, too.
  void read() {
    const std::string file = file_name();
    if (file.empty()) return;
    const auto text = read_text_file(file, std::size_t{1} << 20);
    if (!text) return;
    hashes_.clear();
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t end = std::min(text->find('\n', at), text->size());
      const std::string line = text->substr(at, end - at);
      if (line.size() > kDigits + 1 && line[kDigits] == ' ' && line.find_first_not_of("0123456789abcdef") == kDigits &&
          hashes_.size() < kMost)
        hashes_[line.substr(kDigits + 1)] = line.substr(0, kDigits);
      at = end + 1;
    }
  }

  Mutex mutex_;
  std::map<std::string, std::string> hashes_;
};

Digest digest_of_hex(const std::string& hex) {
  const auto value = [](char c) { return static_cast<std::uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  Digest out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint8_t>(value(hex[2 * i]) << 4 | value(hex[2 * i + 1]));
  return out;
}

Result<Digest> hash_of_file(const std::string& path, HashCache cache, const std::atomic<bool>* cancel) {
  LOOM_TRY(const auto file, MappedFile::open(path));
  constexpr std::string_view kEntity = "ENTITY";
  const std::span<const std::byte> bytes = file->bytes();
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kEntity.size()));
  if (start == kEntity)
    if (const auto entity = EntityReader::open(path)) {
      if (cache == HashCache::fresh) LOOM_TRY_VOID(entity->verify());
      return entity->root_hash();
    }
  const auto info = os::stamp(path);
  const bool remembers = cache == HashCache::use && info && is_settled(*info);
  const std::string stamp = info ? stamp_of(*info) : std::string();
  if (remembers)
    if (const std::string known = RememberedHashes::instance().find(stamp); !known.empty()) return digest_of_hex(known);
  LOOM_TRY(const Digest digest, hash_of_bytes(bytes, cancel));
  file->release(bytes);
  if (const auto after = os::stamp(path); remembers && after && stamp_of(*after) == stamp)
    RememberedHashes::instance().add(stamp, to_hex(digest));
  return digest;
}

bool is_read(std::string_view name, bool is_inside) {
  constexpr std::string_view kEndings[] = {".json", ".jinja", ".safetensors", ".txt", ".model"};
  const auto count = static_cast<std::ptrdiff_t>(is_inside ? 3 : 5);
  return std::any_of(kEndings, kEndings + count, [&](std::string_view ending) { return name.ends_with(ending); });
}

// Names of the files of a folder that count, and of those in its folders.
Result<std::vector<std::string>> files_that_count(const std::string& folder) {
  std::vector<std::string> out;
  LOOM_TRY(const std::vector<std::string> names, visible_names_in(folder));
  for (const std::string& name : names) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (is_file(path) && is_read(name, false)) out.push_back(name);
    if (!is_directory(path)) continue;
    LOOM_TRY(const std::vector<std::string> inner, visible_names_in(path));
    for (const std::string& file : inner)
      if (is_read(file, true) && is_file(fmt::format("{}/{}", path, file)))
        out.push_back(fmt::format("{}/{}", name, file));
    if (out.size() > kMostFilesHashed) break;
  }
  if (out.empty()) return fail(Code::NotFound, "{}: the folder holds no files of a model", folder);
  if (out.size() > kMostFilesHashed)
    return fail(Code::LimitExceeded, "{}: more than {} files; name the folder of one model", folder, kMostFilesHashed);
  std::ranges::sort(out);
  return out;
}

}  // namespace

Result<Digest> content_hash(const std::string& path, HashCache cache, const std::atomic<bool>* cancel) {
  if (!is_directory(path)) return hash_of_file(path, cache, cancel);
  LOOM_TRY(const std::vector<std::string> names, files_that_count(path));
  Sha256 hash;
  for (const std::string& name : names) {
    LOOM_TRY(const Digest digest, hash_of_file(fmt::format("{}/{}", path, name), cache, cancel));
    const std::string line = to_hex(digest) + "  " + name + "\n";
    hash.update(std::as_bytes(std::span(line)));
  }
  return hash.finish();
}

}  // namespace loom
