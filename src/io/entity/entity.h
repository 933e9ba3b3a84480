#pragma once
// .entity version 2 (engine 10.4), the container: a header, a directory and hashed sections, all little-endian.
//     0  "ENTITY" 0 0     8  u16 version 2     10  u16 flags     12  u32 numerics version     16  u64 file length
//    24  u32 sections    28  u32 0             32  root hash: SHA-256 of bytes 0-31 and of the directory, in which the
//      hash field of
//                                                  an entry "signatur" counts as zero
//    64  directory: {8-byte kind, u32 index, u32 flags, u64 offset, u64 length, SHA-256 of the section} per section
// Sections follow in the order of the directory, at multiples of 64 ("weights" 4096), with zeros between them; the file
// ends with the last one. The writer sorts the directory by kind, then index, and leaves the least gaps, so equal
// sections give equal files.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/byte_source.h"
#include "core/error.h"
#include "core/numerics_version.h"
#include "core/sha256.h"

namespace loom {

inline constexpr std::uint16_t kEntityVersion = 2;
// flags of a file: has a section "signatur", "optim"
inline constexpr std::uint16_t kEntitySigned = 1, kEntityOptimiserState = 2;
// flag of a section: who does not know the kind refuses the file
inline constexpr std::uint32_t kSectionMandatory = 1;

// The kinds of engine F-31, and "adapter".
inline constexpr std::string_view kEntityKinds[] = {"network",  "tensors",  "weights", "optim",   "train",
                                                    "tokenize", "template", "kvcache", "session", "licence",
                                                    "metadata", "signatur", "adapter"};

struct EntitySection {
  std::string kind;
  std::uint32_t index = 0, flags = 0;
  std::uint64_t offset = 0, length = 0;
  Digest sha256{};
};

class EntityReader {
 public:
  // Maps the file; checks header, directory and root hash. CorruptData with the offset; Unsupported for other versions
  // of the format, newer numerics versions and unknown mandatory sections; NotFound, IoError.
  static Result<EntityReader> open(const std::string& path);
  static Result<EntityReader> parse(std::shared_ptr<const ByteSource> source);
  // The caller keeps the bytes alive.
  static Result<EntityReader> parse(std::span<const std::byte> bytes);

  std::uint16_t flags() const { return flags_; }
  std::uint32_t numerics_version() const { return numerics_version_; }
  const Digest& root_hash() const { return root_; }
  std::span<const EntitySection> sections() const { return sections_; }
  const EntitySection* find(std::string_view kind, std::uint32_t index = 0) const;

  // The bytes of a section, its hash checked on the first call. NotFound; CorruptData. Any thread.
  Result<std::span<const std::byte>> section(std::string_view kind, std::uint32_t index = 0) const;
  // The same bytes, unchecked: nobody may use them before check() has passed. NotFound.
  Result<std::span<const std::byte>> unchecked_section(std::string_view kind, std::uint32_t index = 0) const;
  // Checks the hashes of the sections that hold `part`, bytes of the file, if they were not checked before.
  // CorruptData. Any thread.
  Result<void> check(std::span<const std::byte> part) const;
  // Checks `count` entries of sections() from number `first` on.
  Result<void> check(std::size_t first, std::size_t count) const;
  // The bytes between the sections are zeros. CorruptData.
  Result<void> check_gaps() const;
  // Every section hash and every gap. CorruptData.
  Result<void> verify() const;

  const std::shared_ptr<const ByteSource>& source() const { return source_; }

 private:
  friend class EntityParser;
  friend class EntityWriter;
  std::span<const std::byte> contents(const EntitySection& s) const {
    return bytes_.subspan(static_cast<std::size_t>(s.offset), static_cast<std::size_t>(s.length));
  }
  Result<std::size_t> position(std::string_view kind, std::uint32_t index) const;
  std::string where() const;  // the file's name in front of an error

  std::shared_ptr<const ByteSource> source_;
  std::span<const std::byte> bytes_;
  std::uint16_t flags_ = 0;
  std::uint32_t numerics_version_ = 0;
  Digest root_{};
  std::vector<EntitySection> sections_;
  std::map<std::pair<std::string, std::uint32_t>, std::size_t> positions_;  // of kind and index
  std::unique_ptr<std::atomic<bool>[]> checked_;                            // per section
};

class EntityWriter {
 public:
  using Sink = std::function<Result<void>(std::span<const std::byte>)>;
  // Gives the bytes of a section, in pieces and in order, to the sink; may be called more than once.
  using Producer = std::function<Result<void>(const Sink&)>;

  // InvalidArgument for a kind of no or more than 8 characters, of others than printable ASCII, or one that was added
  // with this index. The caller keeps the bytes alive until the last write.
  Result<void> add(std::string_view kind, std::uint32_t index, std::uint32_t flags, std::span<const std::byte> bytes);
  Result<void> add(std::string_view kind, std::uint32_t index, std::uint32_t flags, std::uint64_t length,
                   Producer produce);
  // Keeps the bytes itself.
  Result<void> add_text(std::string_view kind, std::uint32_t index, std::uint32_t flags, std::string text);

  // All sections of another file, unknown ones too, and its numerics version, for a rewrite; the reader's bytes are
  // kept alive by the caller, or by the map of an opened file. remove() first takes out what is to be replaced. Hashes
  // are checked while copying.
  Result<void> add_all(const EntityReader& from);
  bool remove(std::string_view kind, std::uint32_t index = 0);

  // Returns the root hash. Atomic: the file is complete, or the old one stays as it was. DiskFull, IoError;
  // InvalidArgument when a producer gave another number of bytes than was said; what producers return.
  Result<Digest> write(const std::string& path) const;
  Result<std::vector<std::byte>> to_bytes() const;

 private:
  struct Part {
    EntitySection section;  // offset and hash not yet known
    Producer produce;
  };
  Result<std::uint64_t> lay_out(std::vector<EntitySection>& sections) const;
  Result<std::vector<std::byte>> write_sections(std::vector<EntitySection>& sections, std::uint64_t length,
                                                const Sink& out, Digest& root) const;

  std::vector<Part> parts_;  // in order of kind and index
  std::uint32_t numerics_version_ = kNumericsVersion;
};

}  // namespace loom
