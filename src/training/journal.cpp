#include "training/journal.h"

#include <cerrno>
#include <cstring>

#include "core/file.h"

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
  return *this;
}

Journal::~Journal() {
  if (file_ != nullptr) std::fclose(file_);
}

Result<void> Journal::write(const Json& line) {
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

}  // namespace loom
