#include "server/sequence_store.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "core/file.h"
#include "core/folder.h"
#include "core/system.h"

namespace loom::server {
namespace {

constexpr std::string_view kBegin = "sequence-", kEnd = ".kv";
constexpr std::size_t kMostFiles = 256;  // each of them is open

bool begins_with(std::span<const std::int32_t> tokens, std::span<const std::int32_t> beginning) {
  return tokens.size() >= beginning.size() && std::ranges::equal(tokens.first(beginning.size()), beginning);
}

}  // namespace

Result<std::unique_ptr<SequenceStore>> SequenceStore::open(const std::string& folder, std::uint64_t most_bytes) {
  LOOM_TRY_VOID(create_folders(folder));
  LOOM_TRY(const auto names, visible_names_in(folder));
  for (const std::string& name : names)
    if (name.starts_with(kBegin) && name.ends_with(kEnd)) os::remove_left_over(fmt::format("{}/{}", folder, name));
  std::unique_ptr<SequenceStore> store(new SequenceStore(folder, most_bytes));
  LOOM_TRY(const Entry trial, store->create());
  remove(trial);
  return store;
}

SequenceStore::~SequenceStore() {
  for (const Entry& entry : entries_) remove(entry);
}

Result<SequenceStore::Entry> SequenceStore::create() {
  constexpr int kAttempts = 100;
  std::random_device random;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Entry entry;
    entry.path = fmt::format("{}/{}{:08x}{:08x}{}", folder_, kBegin, random(), random(), kEnd);
    entry.file = os::open(entry.path, os::Access::create, 0600);  // holds what people have written
    if (entry.file < 0 && errno == EEXIST) continue;
    if (entry.file < 0) return os::error(entry.path, "cannot create");
    if (os::lock(entry.file) != os::Lock::busy && os::has_name(entry.file)) return entry;
    remove(entry);
  }
  return fail(Code::IoError, "{}: no free name for a file in it", folder_);
}

void SequenceStore::remove(const Entry& entry) {
  os::remove(entry.path.c_str());
  os::close(entry.file);
}

SequenceStore::Match SequenceStore::longest(std::span<const std::int32_t> prompt) const {
  Match best;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto common = std::ranges::mismatch(prompt, entries_[i].tokens).in1 - prompt.begin();
    if (static_cast<std::size_t>(common) > best.count) best = {i, static_cast<std::size_t>(common)};
  }
  return best;
}

bool SequenceStore::holds(std::span<const std::int32_t> tokens) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return begins_with(entry.tokens, tokens); });
}

void SequenceStore::drop(std::size_t entry) {
  bytes_ -= entries_[entry].bytes;
  remove(entries_[entry]);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(entry));
}

Result<void> SequenceStore::put(std::span<const std::int32_t> tokens, std::span<const std::byte> snapshot) {
  for (std::size_t i = entries_.size(); i-- > 0;)  // beginnings of the new sequence
    if (begins_with(tokens, entries_[i].tokens)) drop(i);
  if (snapshot.size() > most_bytes_) return {};
  while (entries_.size() >= kMostFiles || bytes_ > most_bytes_ - snapshot.size())
    drop(static_cast<std::size_t>(std::ranges::min_element(entries_, {}, &Entry::last_used) - entries_.begin()));
  LOOM_TRY(Entry entry, create());
  for (auto left = snapshot; !left.empty();) {
    const std::int64_t went = os::write(entry.file, left);
    if (went <= 0) {
      const auto error = os::error(entry.path, "cannot write");
      remove(entry);
      return error;
    }
    left = left.subspan(static_cast<std::size_t>(went));
  }
  entry.tokens.assign(tokens.begin(), tokens.end());
  entry.bytes = snapshot.size(), entry.last_used = ++clock_;
  bytes_ += entry.bytes;
  entries_.push_back(std::move(entry));
  return {};
}

Result<std::vector<std::byte>> SequenceStore::read(std::size_t index) {
  Entry& entry = entries_[index];
  entry.last_used = ++clock_;
  LOOM_TRY(const auto file, MappedFile::open(entry.path));
  if (file->bytes().size() != entry.bytes)
    return fail(Code::IoError, "{}: {} bytes, {} were written", entry.path, file->bytes().size(), entry.bytes);
  return std::vector(file->bytes().begin(), file->bytes().end());
}

}  // namespace loom::server
