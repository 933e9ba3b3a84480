#include "training/journal.h"

#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/file.h"
#include "core/numerics_version.h"

namespace loom {
namespace {

Result<std::FILE*> open_for_appending(const std::string& path, const char* mode) {
  std::FILE* file = std::fopen(path.c_str(), mode);
  if (file == nullptr) return fail(Code::IoError, "{}: {}", path, std::strerror(errno));
  return file;
}

}  // namespace

Result<Journal> Journal::create(const std::string& path) {
  LOOM_TRY(std::FILE * file, open_for_appending(path, "wb"));
  return Journal(file, path);
}

Result<Journal> Journal::resume(const std::string& path, std::uint64_t keep_to) {
  LOOM_TRY(const std::vector<Json> lines, read_journal(path));
  std::string kept;
  for (const Json& line : lines) {
    const Json *step = find(line, "step"), *event = find(line, "event");
    if (event != nullptr && *event == "end") continue;
    if (step != nullptr && as_int(*step).value_or(0) > static_cast<std::int64_t>(keep_to)) continue;
    kept += dump_json(line) + "\n";
  }
  LOOM_TRY_VOID(write_file_atomically(path, std::as_bytes(std::span(kept))));
  LOOM_TRY(std::FILE * file, open_for_appending(path, "ab"));
  return Journal(file, path);
}

Journal& Journal::operator=(Journal&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(path_, other.path_);
  if (other.watch_) watch_ = std::move(other.watch_);
  return *this;
}

Journal::~Journal() {
  if (file_ != nullptr) std::fclose(file_);
}

Result<void> Journal::write(const Json& line) {
  if (watch_) LOOM_TRY_VOID(watch_(line));
  if (file_ == nullptr) return {};
  const std::string text = dump_json(line) + "\n";
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0) return {};
  return fail(errno == ENOSPC ? Code::DiskFull : Code::IoError, "{}: {}", path_, std::strerror(errno));
}

Result<std::vector<Json>> read_journal(const std::string& path) {
  LOOM_TRY(const std::string text, read_text_file(path));
  std::vector<Json> lines;
  std::size_t at = 0;
  for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    auto line = parse_json(std::string_view(text).substr(at, end - at));
    if (!line || !line->is_object()) return fail(Code::CorruptData, "{}: line {} is no JSON object", path, lines.size() + 1);
    lines.push_back(std::move(*line));
  }
  return lines;
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Result<JournalProof> JournalProof::open(const std::string& path) {
  LOOM_TRY(std::vector<Json> lines, read_journal(path));
  const Json* event = lines.empty() ? nullptr : find(lines[0], "event");
  if (event == nullptr || *event != "start") return fail(Code::CorruptData, "{}: the first line is no start of a run", path);
  const Json* version = find(lines[0], "numerics_version");
  if (version == nullptr || as_int(*version) != static_cast<std::int64_t>(kNumericsVersion))
    return fail(Code::Unsupported, "{}: written by another numerics version than {}", path, kNumericsVersion);
  return JournalProof(path, std::move(lines));
}

Result<void> JournalProof::compare(const Json& line) {
  if (complete()) {
    beyond_ = true;
    return {};
  }
  Json said = lines_[compared_], now = line;
  for (Json* each : {&said, &now}) {
    each->erase("folder");
    each->erase("sources");
    if (const auto data = each->find("data"); data != each->end())
      for (Json& set : *data)
        if (set.is_object()) set.erase("source");
  }
  LOOM_TRY(const std::string a, dump_canonical(said));
  LOOM_TRY(const std::string b, dump_canonical(now));
  if (a != b)
    return fail(Code::CorruptData, "{}: line {}: the journal and this run differ at {}", path_, compared_ + 1, first_difference(said, now));
  ++compared_;
  return {};
}

Result<void> JournalProof::finish() const {
  if (beyond_) return fail(Code::CorruptData, "{}: ends at line {}, this run goes on", path_, lines_.size());
  if (!complete()) return fail(Code::CorruptData, "{}: line {} has no counterpart in this run", path_, compared_ + 1);
  return {};
}

std::string first_difference(const Json& a, const Json& b, const std::string& pointer) {
  if (a == b) return {};
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.items()) {
      const Json* other = find(b, key);
      if (other == nullptr) return fmt::format("{}/{} is missing in the second", pointer, key);
      if (std::string found = first_difference(value, *other, pointer + "/" + key); !found.empty()) return found;
    }
    for (const auto& [key, value] : b.items())
      if (find(a, key) == nullptr) return fmt::format("{}/{} is missing in the first", pointer, key);
    return {};
  }
  if (a.is_array() && b.is_array() && a.size() == b.size()) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (std::string found = first_difference(a[i], b[i], fmt::format("{}/{}", pointer, i)); !found.empty()) return found;
    return {};
  }
  const auto shown = [](const Json& value) {
    std::string text = dump_json(value);
    return text.size() > 60 ? text.substr(0, 57) + "..." : text;
  };
  return fmt::format("{}: {} and {}", pointer.empty() ? "/" : pointer, shown(a), shown(b));
}

}  // namespace loom
