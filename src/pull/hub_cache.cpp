#include "pull/hub_cache.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "core/file.h"
#include "core/folder.h"
#include "core/nearest.h"
#include "core/path.h"
#include "core/system.h"
#include "io/identify.h"
#include "pull/repository.h"

namespace loom::pull {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "models--";

std::string folder_name(const std::string& org, const std::string& name) {
  return fmt::format("{}{}--{}", kBegin, org, name);
}

tl::unexpected<Error> failed(const std::string& path, std::string_view what, const std::error_code& why) {
  const bool is_full = why == std::errc::no_space_on_device;
  return fail(is_full ? Code::DiskFull : Code::IoError, "{}: {}: {}", path, what, why.message());
}

// "refs/main" and "refs/pr/1" by commit.
std::map<std::string, std::vector<std::string>> revisions_of(const std::string& model) {
  std::map<std::string, std::vector<std::string>> out;
  std::error_code ignored;
  const fs::path root = path_of(model + "/refs");
  for (fs::recursive_directory_iterator at(root, ignored), end; at != end; at.increment(ignored)) {
    if (!at->is_regular_file(ignored)) continue;
    const auto text = read_text_file(text_of(at->path()), 4096);
    if (!text) continue;
    const std::string commit = text->substr(0, text->find_last_not_of(" \r\n\t") + 1);
    out[commit].push_back(text_of(at->path().lexically_relative(root)));
  }
  for (auto& [commit, names] : out) std::ranges::sort(names);
  return out;
}

std::string kind_of_snapshot(const CachedSnapshot& snapshot) {
  if (const auto found = identify(snapshot.path)) {
    if (found->kind == FileKind::ModelFolder) return "model";
    if (found->kind == FileKind::EncoderFolder) return "encoder";
    if (found->kind == FileKind::AdapterFolder) return "adapter";
  }
  for (const std::string_view end : {".gguf", ".onnx", ".entity"})
    for (const auto& file : snapshot.files)
      if (file.first.ends_with(end)) return std::string(end.substr(1));
  return "other";
}

// "ORG/NAME" of "models--ORG--NAME"; a model of old without an organisation is "NAME".
std::string model_name(std::string_view folder) {
  folder.remove_prefix(kBegin.size());
  std::string name(folder);
  if (const std::size_t between = name.find("--"); between != name.npos) name.replace(between, 2, "/");
  return name;
}

CachedSnapshot snapshot_at(const std::string& path, const std::string& model) {
  CachedSnapshot out;
  out.model = model, out.path = path;
  std::error_code ignored;
  const fs::path root = path_of(path);
  for (fs::recursive_directory_iterator at(root, ignored), end; at != end; at.increment(ignored)) {
    const auto info = os::info(text_of(at->path()));  // of what a link leads to
    if (!info || !info->is_file) continue;
    out.files.emplace_back(text_of(at->path().lexically_relative(root)), info->bytes);
    out.bytes += info->bytes;
  }
  std::ranges::sort(out.files);
  out.kind = kind_of_snapshot(out);
  return out;
}

}  // namespace

HubCache::HubCache(std::string folder, const std::string& org, const std::string& name)
    : folder_(std::move(folder)), folder_name_(folder_name(org, name)), model_(folder_ + "/" + folder_name_) {}

std::string HubCache::lock_file(const std::string& etag) const {
  return fmt::format("{}/.locks/{}/{}.lock", folder_, folder_name_, etag);
}

Result<void> HubCache::create(const std::string& commit) const {
  LOOM_TRY_VOID(create_folders(model_ + "/blobs"));
  LOOM_TRY_VOID(create_folders(snapshot(commit)));
  return create_folders(fmt::format("{}/.locks/{}", folder_, folder_name_));
}

Result<void> HubCache::link(const std::string& commit, const std::string& path, const std::string& etag) const {
  const std::string at = snapshot(commit) + "/" + path;
  LOOM_TRY_VOID(create_folders(at.substr(0, at.rfind('/'))));
  std::string target = "../../blobs/" + etag;
  for (const char c : path)
    if (c == '/') target.insert(0, "../");
  std::error_code why;
  if (fs::is_symlink(path_of(at), why) && text_of(fs::read_symlink(path_of(at), why)) == target) return {};
  // Made elsewhere, so that a process that is killed leaves nothing among the files of the snapshot.
  const std::string beside = fmt::format("{}.{}.link", blob(etag), ::getpid());
  fs::remove(path_of(beside), why);
  fs::create_symlink(path_of(target), path_of(beside), why);
  if (why) return failed(beside, "cannot create this link", why);
  if (!os::rename(beside, at)) return os::error(at, "cannot be created");
  return {};
}

Result<void> HubCache::set_revision(const std::string& revision, const std::string& commit) const {
  if (revision == commit) return {};
  const std::string path = fmt::format("{}/refs/{}", model_, revision), beside = blob(commit + ".ref");
  const auto is_set = [&] {
    const auto text = read_text_file(path, 4096);
    return text && *text == commit;
  };
  if (is_set()) return {};
  LOOM_TRY_VOID(create_folders(path.substr(0, path.rfind('/'))));
  LOOM_TRY_VOID(write_file_atomically(beside, std::as_bytes(std::span(commit))));
  // Another process may have written the same revision meanwhile.
  if (!os::rename(beside, path) && !is_set()) return os::error(path, "cannot be created");
  return sync_folder_of(path);
}

Result<FileLock> FileLock::take_now(const std::string& path) {
  for (;;) {
    const int file = os::open(path, os::Access::lock, 0666);
    if (file < 0) return os::error(path, "cannot be opened");
    FileLock lock(file);
    const os::Lock state = os::lock(file);
    if (state == os::Lock::failed) return os::error(path, "cannot be locked");
    if (state == os::Lock::busy) return fail(Code::InvalidState, "{} is locked by another process", path);
    if (os::has_name(file)) return lock;  // otherwise its holder has removed it: that of the name counts
  }
}

Result<FileLock> FileLock::take(const std::string& path, const std::atomic<bool>& cancel,
                                const std::function<void()>& waiting) {
  for (bool is_first = true;; is_first = false) {
    auto lock = take_now(path);
    if (lock || lock.error().code != Code::InvalidState) return lock;
    if (is_first) waiting();
    if (cancel.load(std::memory_order_relaxed)) return fail(Code::Cancelled, "interrupted");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

FileLock::~FileLock() {
  if (file_ >= 0) os::close(file_);
}

Result<std::vector<CachedSnapshot>> snapshots_in(const std::string& cache) {
  std::vector<CachedSnapshot> out;
  const auto names = visible_names_in(cache);
  if (!names) {
    if (names.error().code == Code::NotFound) return out;
    return tl::make_unexpected(names.error());
  }
  for (const std::string& name : *names) {
    if (!name.starts_with(kBegin)) continue;
    const std::string model = fmt::format("{}/{}", cache, name);
    const auto commits = visible_names_in(model + "/snapshots");
    if (!commits) continue;
    const auto revisions = revisions_of(model);
    for (const std::string& commit : *commits) {
      CachedSnapshot snapshot = snapshot_at(fmt::format("{}/snapshots/{}", model, commit), model_name(name));
      snapshot.commit = commit;
      if (const auto at = revisions.find(commit); at != revisions.end())
        snapshot.revision = fmt::format("{}", fmt::join(at->second, ", "));
      out.push_back(std::move(snapshot));
    }
  }
  return out;
}

Result<CachedModel> model_in(const std::string& cache, const std::string& org, const std::string& name) {
  CachedModel out;
  out.folder = fmt::format("{}/{}", cache, folder_name(org, name));
  std::error_code why;
  const fs::file_status status = fs::symlink_status(path_of(out.folder), why);
  if (status.type() == fs::file_type::not_found)
    return fail(Code::NotFound, "{}/{}: the cache {} has no such model", org, name, cache);
  if (status.type() != fs::file_type::directory)
    return fail(Code::InvalidArgument, "{}: expected a folder of the cache, found a link or a file", out.folder);
  for (fs::recursive_directory_iterator at(path_of(out.folder), why), end; !why && at != end; at.increment(why)) {
    std::error_code ignored;
    if (!fs::is_regular_file(at->symlink_status(ignored))) continue;
    ++out.files;
    const std::uintmax_t bytes = at->file_size(ignored);
    if (!ignored) out.bytes += bytes;
  }
  if (why) return failed(out.folder, "cannot be read", why);
  return out;
}

Result<void> remove_model(const std::string& cache, const std::string& org, const std::string& name) {
  LOOM_TRY(const CachedModel model, model_in(cache, org, name));
  // Downloads hold the locks of their blobs until they are done.
  std::vector<FileLock> held;
  const std::string locks = fmt::format("{}/.locks/{}", cache, folder_name(org, name));
  if (const auto names = visible_names_in(locks)) {
    for (const std::string& lock : *names) {
      auto taken = FileLock::take_now(fmt::format("{}/{}", locks, lock));
      if (!taken && taken.error().code == Code::InvalidState)
        return fail(Code::InvalidState, "{}/{} is being fetched by another process", org, name);
      if (taken) held.push_back(*std::move(taken));
    }
  }
  // Names that a reader looks for go first, so that it finds no model rather than half of one.
  std::error_code why;
  for (const char* const part : {"/refs", "/snapshots", ""}) {
    fs::remove_all(path_of(model.folder + part), why);
    if (why) return failed(model.folder + part, "cannot be removed", why);
  }
  return {};
}

}  // namespace loom::pull
