#include <algorithm>
#include <cstring>

#include "core/checked.h"
#include "core/nearest.h"
#include "io/byte_reader.h"
#include "io/entity/entity.h"
#include "io/entity/entity_layout.h"

namespace loom {
namespace {

Digest digest_at(const std::byte* at) {
  Digest d;
  std::memcpy(d.data(), at, d.size());
  return d;
}

std::string shown(const EntitySection& s) {
  return fmt::format("offset {}: section \"{}\" {}", s.offset, s.kind, s.index);
}

}  // namespace

class EntityParser {
 public:
  explicit EntityParser(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<EntityReader> parse() {
    LOOM_TRY_VOID(header());
    for (std::size_t i = 0; i < count_; ++i) LOOM_TRY_VOID(entry(i));
    if (end_ != bytes_.size())
      return fail(Code::CorruptData, "offset {}: {} bytes after the last section", end_, bytes_.size() - end_);
    LOOM_TRY_VOID(check_flags());
    out_.checked_ = std::make_unique<std::atomic<bool>[]>(count_);
    out_.bytes_ = bytes_;
    return std::move(out_);
  }

 private:
  // Everything the root hash covers is believed only after the hash was right, so that damage never passes for a newer
  // version.
  Result<void> header() {
    if (bytes_.size() < kEntityHeaderBytes || as_text(bytes_.first(kEntityMagic.size())) != kEntityMagic)
      return fail(Code::CorruptData, "offset 0: header: no .entity file");
    const auto version = load_le<std::uint16_t>(bytes_.data() + 8);
    if (version != kEntityVersion) return other_version(version);
    const auto length = load_le<std::uint64_t>(bytes_.data() + 16);
    if (length != bytes_.size())
      return fail(Code::CorruptData, "offset 16: header: expected a file of {} bytes, got {}{}", length, bytes_.size(),
                  length > bytes_.size() ? ": it was cut" : "");
    LOOM_TRY_VOID(check_root(bytes_.first(kEntityHeaderBytes)));
    out_.flags_ = load_le<std::uint16_t>(bytes_.data() + 10);
    out_.numerics_version_ = load_le<std::uint32_t>(bytes_.data() + 12);
    out_.root_ = digest_at(bytes_.data() + 32);
    if (out_.numerics_version_ > kNumericsVersion)
      return fail(
          Code::Unsupported,
          "offset 12: header: numerics version {} is newer than {}, the newest of this build; a newer Loom can read it",
          out_.numerics_version_, kNumericsVersion);
    if (out_.numerics_version_ == 0)
      return fail(Code::CorruptData, "offset 12: header: numerics version 0, versions begin with 1");
    if (const auto reserved = load_le<std::uint32_t>(bytes_.data() + 28); reserved != 0)
      return fail(Code::CorruptData, "offset 28: header: reserved field is {}, expected 0", reserved);
    out_.sections_.reserve(count_);
    end_ = kEntityHeaderBytes + count_ * kEntityEntryBytes;
    return {};
  }

  // Sets count_.
  Result<void> check_root(std::span<const std::byte> header) {
    const auto count = load_le<std::uint32_t>(header.data() + 24);
    if (count > (bytes_.size() - kEntityHeaderBytes) / kEntityEntryBytes)
      return fail(Code::CorruptData, "offset 24: header: {} sections do not fit in {} bytes", count, bytes_.size());
    count_ = count;
    if (entity_root_hash(header, bytes_.subspan(kEntityHeaderBytes, count_ * kEntityEntryBytes)) !=
        digest_at(header.data() + 32))
      return fail(Code::CorruptData, "offset 32: root hash differs: header or directory are damaged");
    return {};
  }

  // A version field that was damaged shows in the root hash of what would be a file of ours.
  Result<void> other_version(std::uint16_t version) {
    std::byte ours[kEntityHeaderBytes];
    std::memcpy(ours, bytes_.data(), sizeof ours);
    store_le(ours + 8, kEntityVersion);
    if (check_root(ours))
      return fail(Code::CorruptData, "offset 8: header: format version {} is damaged, expected {}", version,
                  kEntityVersion);
    return fail(Code::Unsupported, "offset 8: header: .entity format version {}, this build reads {}{}", version,
                kEntityVersion, version > kEntityVersion ? "; a newer Loom can read it" : "");
  }

  Result<void> entry(std::size_t i) {
    const std::size_t place = kEntityHeaderBytes + i * kEntityEntryBytes;
    const std::byte* const at = bytes_.data() + place;
    EntitySection s;
    const std::string_view kind = as_text(bytes_.subspan(place, kEntityKindBytes));
    s.kind = kind.substr(0, kind.find('\0'));
    const bool clean = std::all_of(s.kind.begin(), s.kind.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (s.kind.empty() || !clean || kind.find_first_not_of('\0', s.kind.size()) != kind.npos)
      return fail(Code::CorruptData, "offset {}: directory: \"{}\" is no kind of section", place, printable(kind));
    s.index = load_le<std::uint32_t>(at + 8);
    s.flags = load_le<std::uint32_t>(at + 12);
    s.offset = load_le<std::uint64_t>(at + 16);
    s.length = load_le<std::uint64_t>(at + 24);
    s.sha256 = digest_at(at + kEntityHashInEntry);
    const auto wrong = [&](const std::string& what) {
      return fail(Code::CorruptData, "offset {}: directory: section \"{}\" {} of {} bytes at {}: {}", place, s.kind,
                  s.index, s.length, s.offset, what);
    };
    if (s.offset % section_alignment(s.kind) != 0)
      return wrong(fmt::format("no multiple of {}", section_alignment(s.kind)));
    if (s.offset < end_) return wrong(fmt::format("overlaps what ends at {}, or is out of order", end_));
    if (s.offset > bytes_.size() || s.length > bytes_.size() - s.offset) return wrong("leaves the file");
    if (!out_.positions_.emplace(std::pair(s.kind, s.index), i).second) return wrong("appears twice");
    if ((s.flags & kSectionMandatory) != 0 &&
        std::find(std::begin(kEntityKinds), std::end(kEntityKinds), s.kind) == std::end(kEntityKinds))
      return fail(Code::Unsupported,
                  "offset {}: directory: section \"{}\" must be understood, and this build does not know the kind",
                  place, s.kind);
    end_ = static_cast<std::size_t>(s.offset + s.length);
    out_.sections_.push_back(std::move(s));
    return {};
  }

  Result<void> check_flags() {
    const auto has = [&](std::string_view kind) {
      return std::any_of(out_.sections_.begin(), out_.sections_.end(),
                         [&](const EntitySection& s) { return s.kind == kind; });
    };
    const int expected = (has("signatur") ? kEntitySigned : 0) | (has("optim") ? kEntityOptimiserState : 0);
    if ((out_.flags_ & ~(kEntitySigned | kEntityOptimiserState)) != 0)
      return fail(Code::Unsupported, "offset 10: header: flags 0x{:x} are not known to this build", out_.flags_);
    if (out_.flags_ != expected)
      return fail(Code::CorruptData, "offset 10: header: flags 0x{:x}, the sections say 0x{:x}", out_.flags_, expected);
    return {};
  }

  std::span<const std::byte> bytes_;
  std::size_t count_ = 0, end_ = 0;
  EntityReader out_;
};

Result<EntityReader> EntityReader::parse(std::span<const std::byte> bytes) { return EntityParser(bytes).parse(); }

Result<EntityReader> EntityReader::open(const std::string& path) {
  LOOM_TRY(auto source, ByteSource::file(path));
  return parse(std::move(source));
}

Result<EntityReader> EntityReader::parse(std::shared_ptr<const ByteSource> source) {
  auto reader = parse(source->bytes());
  if (!reader) return at(source->name(), std::move(reader).error());
  reader->source_ = std::move(source);
  return reader;
}

const EntitySection* EntityReader::find(std::string_view kind, std::uint32_t index) const {
  const auto found = positions_.find(std::pair(std::string(kind), index));
  return found == positions_.end() ? nullptr : &sections_[found->second];
}

std::string EntityReader::where() const { return source_ ? source_->name() + ": " : ""; }

Result<std::size_t> EntityReader::position(std::string_view kind, std::uint32_t index) const {
  const EntitySection* s = find(kind, index);
  if (!s) return fail(Code::NotFound, "{}no section \"{}\" {}", where(), printable(kind), index);
  return static_cast<std::size_t>(s - sections_.data());
}

Result<void> EntityReader::check(std::size_t first, std::size_t count) const {
  std::vector<std::size_t> pending;
  std::vector<std::span<const std::byte>> inputs;
  for (std::size_t i = first; i < first + count; ++i)
    if (!checked_[i]) pending.push_back(i), inputs.push_back(contents(sections_[i]));
  std::vector<Digest> digests(inputs.size());
  sha256_each(inputs, digests);
  for (std::size_t i = 0; i < pending.size(); ++i) {
    const EntitySection& s = sections_[pending[i]];
    if (digests[i] != s.sha256)
      return fail(Code::CorruptData, "{}{}: its {} bytes are damaged: SHA-256 differs", where(), shown(s), s.length);
    checked_[pending[i]] = true;
  }
  return {};
}

Result<void> EntityReader::check(std::span<const std::byte> part) const {
  if (part.empty()) return {};
  const auto begin = static_cast<std::uint64_t>(part.data() - bytes_.data()), end = begin + part.size();
  const auto first = std::partition_point(sections_.begin(), sections_.end(),
                                          [&](const EntitySection& s) { return s.offset + s.length <= begin; });
  const auto last =
      std::partition_point(first, sections_.end(), [&](const EntitySection& s) { return s.offset < end; });
  return check(static_cast<std::size_t>(first - sections_.begin()), static_cast<std::size_t>(last - first));
}

Result<std::span<const std::byte>> EntityReader::unchecked_section(std::string_view kind, std::uint32_t index) const {
  LOOM_TRY(const std::size_t i, position(kind, index));
  return contents(sections_[i]);
}

Result<std::span<const std::byte>> EntityReader::section(std::string_view kind, std::uint32_t index) const {
  LOOM_TRY(const std::size_t i, position(kind, index));
  if (!checked_[i]) LOOM_TRY_VOID(check(i, 1));
  return contents(sections_[i]);
}

Result<void> EntityReader::check_gaps() const {
  std::size_t end = kEntityHeaderBytes + sections_.size() * kEntityEntryBytes;
  for (const EntitySection& s : sections_) {
    for (; end < s.offset; ++end)
      if (bytes_[end] != std::byte{0})
        return fail(Code::CorruptData, "{}offset {}: the gap before section \"{}\" {} is not zero", where(), end,
                    s.kind, s.index);
    end = static_cast<std::size_t>(s.offset + s.length);
  }
  return {};
}

Result<void> EntityReader::verify() const {
  LOOM_TRY_VOID(check_gaps());
  return check(0, sections_.size());
}

}  // namespace loom
