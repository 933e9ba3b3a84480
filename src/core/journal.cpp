#include "core/journal.h"

#include <array>
#include <cerrno>
#include <cmath>

#include "core/json.h"
#include "core/numerics_version.h"
#include "core/system.h"

namespace loom {
namespace {

constexpr std::size_t kPiece = 1 << 16;  // read at once

}  // namespace

Json to_json(const JournalMark& mark) { return {{"bytes", mark.bytes}, {"sha256", mark.sha256}}; }

Result<JournalMark> journal_mark_from(const Json* json) {
  const Json *bytes = json == nullptr ? nullptr : find(*json, "bytes"),
             *hash = json == nullptr ? nullptr : find(*json, "sha256");
  const std::optional<std::int64_t> count = as_int(bytes == nullptr ? Json() : *bytes);
  const std::string* digest = hash == nullptr ? nullptr : as_string(*hash);
  if (!count || *count < 0 || digest == nullptr)
    return fail(Code::CorruptData, "the journal's length and hash are missing");
  return JournalMark{static_cast<std::uint64_t>(*count), *digest};
}

// A regular file alone: a pipe or a device of that name would hold us up.
Result<Journal::File> Journal::open(const std::string& path, os::Access access) {
  const int fd = os::open(path, access);
  if (fd < 0) return os::error(path);
  const auto info = os::info(fd);
  const bool regular = info && info->is_file;
  File file(regular ? ::fdopen(fd, access == os::Access::read ? "rb" : "ab") : nullptr);
  if (file == nullptr) {
    os::close(fd);
    return fail(Code::IoError, "{}: is no regular file", path);
  }
  return file;
}

Result<Journal> Journal::create(const std::string& path) {
  LOOM_TRY(File file, open(path, os::Access::append_anew));
  return Journal(std::move(file), path);
}

Result<Journal> Journal::cut(const std::string& path, std::uint64_t bytes, const Sha256& hash) {
  LOOM_TRY(File file, open(path, os::Access::append));
  if (!os::truncate(::fileno(file.get()), bytes)) return os::error(path);
  Journal out(std::move(file), path);
  out.bytes_ = bytes, out.hash_ = hash;
  return out;
}

Result<Journal> Journal::resume(const std::string& path, const JournalMark& mark) {
  LOOM_TRY(const File file, open(path, os::Access::read));
  std::array<std::byte, kPiece> piece;
  Sha256 hash;
  for (std::uint64_t left = mark.bytes; left > 0;) {
    const std::size_t got =
        std::fread(piece.data(), 1, static_cast<std::size_t>(std::min<std::uint64_t>(left, kPiece)), file.get());
    if (got == 0)
      return fail(Code::CorruptData,
                  "{}: ends {} bytes before the checkpoint, which counts on {}: nothing could prove this run; "
                  "--overwrite starts a new run",
                  path, left, mark.bytes);
    hash.update(std::span(piece).first(got));
    left -= got;
  }
  if (to_hex(Sha256(hash).finish()) != mark.sha256)
    return fail(Code::CorruptData, "{}: is not the journal of the checkpoint beside it", path);
  return cut(path, mark.bytes, hash);
}

Result<Journal> Journal::resume(const std::string& path, std::uint64_t keep_to) {
  LOOM_TRY(JournalReader reader, JournalReader::open(path));
  for (std::uint64_t kept = 0;; kept = reader.bytes()) {
    LOOM_TRY(const auto line, reader.next());
    const Json *step = line ? find(*line, "step") : nullptr, *event = line ? find(*line, "event") : nullptr;
    const bool beyond = step != nullptr && as_int(*step).value_or(0) > static_cast<std::int64_t>(keep_to);
    if (!line || beyond || (event != nullptr && *event == "end")) return cut(path, kept, {});
  }
}

Journal& Journal::operator=(Journal&& other) noexcept {
  file_ = std::move(other.file_), path_ = std::move(other.path_);
  bytes_ = other.bytes_, hash_ = other.hash_;
  if (other.watch_) watch_ = std::move(other.watch_);
  return *this;
}

Result<void> Journal::write(const Json& line) {
  if (watch_) LOOM_TRY_VOID(watch_(line));
  if (file_ == nullptr) return {};
  const std::string text = dump_json(line) + "\n";
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || std::fflush(file_.get()) != 0)
    return os::error(path_);
  bytes_ += text.size(), hash_.update(std::as_bytes(std::span(text)));
  return {};
}

Result<JournalMark> Journal::sync() {
  if (file_ != nullptr && !os::flush(::fileno(file_.get()))) return os::error(path_);
  return JournalMark{bytes_, to_hex(Sha256(hash_).finish())};
}

Result<JournalReader> JournalReader::open(const std::string& path) {
  LOOM_TRY(Journal::File file, Journal::open(path, os::Access::read));
  return JournalReader(std::move(file), path);
}

Result<std::optional<Json>> JournalReader::next() {
  LOOM_TRY(const auto text, next_text());
  if (!text) return std::optional<Json>();
  auto line = parsed(*text);
  if (line) return std::optional<Json>(*std::move(line));
  // A line that failed fails again.
  const std::size_t length = text->size() + 1;
  at_ -= length, bytes_ -= length, --lines_;
  return tl::make_unexpected(std::move(line).error());
}

Result<Json> JournalReader::parsed(std::string_view text) const {
  auto line = parse_json(text);
  if (!line || !line->is_object()) return fail(Code::CorruptData, "{}: line {} is no JSON object", path_, lines_);
  return std::move(*line);
}

Result<std::optional<std::string_view>> JournalReader::next_text() {
  constexpr JsonLimits kLimits;
  std::size_t seen = at_, end;
  while ((end = text_.find('\n', seen)) == text_.npos) {
    text_.erase(0, at_);
    seen = text_.size(), at_ = 0;
    if (seen > kLimits.max_bytes)
      return fail(Code::LimitExceeded, "{}: line {} has more than {} bytes", path_, lines_ + 1, kLimits.max_bytes);
    text_.resize(seen + kPiece);
    const std::size_t got = std::fread(text_.data() + seen, 1, kPiece, file_.get());
    text_.resize(seen + got);
    if (got == 0 && std::ferror(file_.get()) != 0) return os::error(path_);
    if (got == 0) return std::optional<std::string_view>();
  }
  const std::string_view line = std::string_view(text_).substr(at_, end - at_);
  bytes_ += end + 1 - at_, at_ = end + 1, ++lines_;
  return std::optional(line);
}

Result<std::vector<Json>> read_journal(const std::string& path) {
  LOOM_TRY(JournalReader reader, JournalReader::open(path));
  std::vector<Json> lines;
  for (;;) {
    LOOM_TRY(auto line, reader.next());
    if (!line) return lines;
    lines.push_back(std::move(*line));
  }
}

namespace {

Result<Json> start_of(JournalReader& reader) {
  LOOM_TRY(auto line, reader.next());
  const Json* event = line ? find(*line, "event") : nullptr;
  if (event == nullptr || *event != "start")
    return fail(Code::CorruptData, "{}: the first line is no start of a run", reader.path());
  return std::move(*line);
}

}  // namespace

Result<Json> read_journal_start(const std::string& path) {
  LOOM_TRY(JournalReader reader, JournalReader::open(path));
  return start_of(reader);
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

namespace {

// Of a run's start, or another line, which says nothing of it.
Result<void> need_exact(const std::string& path, const Json& line, std::string_view run) {
  const Json* precision = find(line, "precision");
  if (precision == nullptr) return {};
  return fail(Code::Unsupported, "{}: {} has precision {}, whose results no run gives again: there is nothing to prove",
              path, run, dump_json(*precision));
}

}  // namespace

Result<JournalProof> JournalProof::open(const std::string& path) {
  LOOM_TRY(JournalReader reader, JournalReader::open(path));
  LOOM_TRY(Json start, start_of(reader));
  const Json* version = find(start, "numerics_version");
  if (version == nullptr || as_int(*version) != static_cast<std::int64_t>(kNumericsVersion))
    return fail(Code::Unsupported, "{}: written by another numerics version than {}", path, kNumericsVersion);
  LOOM_TRY_VOID(need_exact(path, start, "the journal's run"));
  return JournalProof(std::move(reader), std::move(start));
}

Result<void> JournalProof::compare(const Json& line) {
  if (complete()) {
    beyond_ = true;
    return {};
  }
  LOOM_TRY_VOID(need_exact(reader_.path(), line, "this run"));
  Json said = *next_, now = line;
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
    return fail(Code::CorruptData, "{}: line {}: the journal and this run differ at {}", reader_.path(), compared_ + 1,
                first_difference(said, now));
  LOOM_TRY(next_, reader_.next());
  ++compared_;
  return {};
}

Result<void> JournalProof::finish() const {
  if (beyond_) return fail(Code::CorruptData, "{}: ends at line {}, this run goes on", reader_.path(), compared_);
  if (!complete())
    return fail(Code::CorruptData, "{}: line {} has no counterpart in this run", reader_.path(), compared_ + 1);
  return {};
}

std::string first_difference(const Json& a, const Json& b, const std::string& pointer) {
  if (a == b) return {};
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.items()) {
      const Json* other = find(b, key);
      if (other == nullptr) return fmt::format("{}/{} is missing in the second", pointer, key);
      if (std::string found = first_difference(value, *other, fmt::format("{}/{}", pointer, key)); !found.empty())
        return found;
    }
    for (const auto& [key, value] : b.items())
      if (find(a, key) == nullptr) return fmt::format("{}/{} is missing in the first", pointer, key);
    return {};
  }
  if (a.is_array() && b.is_array() && a.size() == b.size()) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (std::string found = first_difference(a[i], b[i], fmt::format("{}/{}", pointer, i)); !found.empty())
        return found;
    return {};
  }
  const auto shown = [](const Json& value) {
    std::string text = dump_json(value);
    return text.size() > 60 ? text.substr(0, 57) + "..." : text;
  };
  return fmt::format("{}: {} and {}", pointer.empty() ? "/" : pointer, shown(a), shown(b));
}

}  // namespace loom
