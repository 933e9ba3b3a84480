#include "io/npy/npz.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/file.h"
#include "core/nearest.h"
#include "io/byte_reader.h"
#include "io/npy/inflate.h"

namespace loom {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::size_t kEndBytes = 22, kLocalBytes = 30;
constexpr std::size_t kMostUnpacked = std::size_t{1} << 30;  // of the arrays that are read together
constexpr std::uint16_t kStored = 0, kDeflated = 8;

std::uint32_t crc32(std::span<const std::byte> bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      table[i] = i;
      for (int bit = 0; bit < 8; ++bit) table[i] = table[i] >> 1 ^ ((table[i] & 1) != 0 ? 0xedb88320u : 0u);
    }
    return table;
  }();
  std::uint32_t crc = ~0u;
  for (const std::byte b : bytes) crc = crc >> 8 ^ kTable[(crc ^ std::to_integer<std::uint32_t>(b)) & 255];
  return ~crc;
}

struct Entry {
  std::string name;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc = 0, stored = 0, size = 0, local = 0;
};

// One record of the central directory.
Result<Entry> read_entry(ByteReader& in) {
  const std::size_t start = in.offset();
  LOOM_TRY(const auto h, in.take(46, "an entry"));
  if (load_le<std::uint32_t>(h.data()) != kCentral)
    return fail(Code::CorruptData, "offset {}: no entry of an archive", start);
  Entry e;
  e.flags = load_le<std::uint16_t>(h.data() + 8), e.method = load_le<std::uint16_t>(h.data() + 10);
  e.crc = load_le<std::uint32_t>(h.data() + 16), e.stored = load_le<std::uint32_t>(h.data() + 20),
  e.size = load_le<std::uint32_t>(h.data() + 24);
  e.local = load_le<std::uint32_t>(h.data() + 42);
  LOOM_TRY(const auto name, in.take(load_le<std::uint16_t>(h.data() + 28), "a name"));
  e.name = as_text(name);
  // extra fields, comment
  const std::size_t rest = std::size_t{load_le<std::uint16_t>(h.data() + 30)} + load_le<std::uint16_t>(h.data() + 32);
  LOOM_TRY_VOID(in.take(rest, "an entry"));
  if ((e.flags & 1) != 0) return fail(Code::Unsupported, "offset {}: the archive is encrypted", start);
  if (e.method != kStored && e.method != kDeflated)
    return fail(Code::Unsupported, "offset {}: compressed by method {}; numpy writes 0 and 8", start, e.method);
  if (e.stored == ~0u || e.size == ~0u || e.local == ~0u)
    return fail(Code::Unsupported, "offset {}: archives beyond 4 GiB are not read", start);
  const std::uint64_t most = e.method == kStored ? e.stored : std::uint64_t{e.stored} * kMostInflatedPerByte;
  if (e.size > most || (e.method == kStored && e.stored != e.size))
    return fail(Code::CorruptData, "offset {}: {} bytes stored for {}", start, e.stored, e.size);
  return e;
}

Result<std::span<const std::byte>> contents(std::span<const std::byte> file, const Entry& e) {
  if (e.local > file.size() || file.size() - e.local < kLocalBytes ||
      load_le<std::uint32_t>(file.data() + e.local) != kLocal)
    return fail(Code::CorruptData, "offset {}: no header of {}", e.local, printable(e.name));
  const std::byte* h = file.data() + e.local;
  const std::size_t start = e.local + kLocalBytes + load_le<std::uint16_t>(h + 26) + load_le<std::uint16_t>(h + 28);
  if (start > file.size() || e.stored > file.size() - start)
    return fail(Code::CorruptData, "offset {}: {} leaves the file", e.local, printable(e.name));
  return file.subspan(start, e.stored);
}

Result<NpyArray> array_of(std::span<const std::byte> file, const Entry& e) {
  LOOM_TRY(std::span<const std::byte> bytes, contents(file, e));
  Buffer unpacked;
  if (e.method == kDeflated) {
    LOOM_TRY(unpacked, inflate_exactly(bytes, e.size));
    bytes = std::as_const(unpacked).bytes().first(e.size);
  }
  if (crc32(bytes) != e.crc) return fail(Code::CorruptData, "offset {}: the checksum is wrong", e.local);
  return parse_npy(bytes);
}

}  // namespace

Result<std::map<std::string, NpyArray>> parse_npz(std::span<const std::byte> file,
                                                  std::span<const std::string_view> wanted) {
  if (file.size() < kEndBytes) return fail(Code::CorruptData, "offset 0: no .npz file");
  // The end record stands last; a comment of up to 64 KiB may follow it.
  std::size_t at_end = file.size() - kEndBytes;
  for (std::size_t back = 0; load_le<std::uint32_t>(file.data() + at_end) != kEnd; ++back, --at_end)
    if (at_end == 0 || back == 65535)
      return fail(Code::CorruptData, "offset 0: no .npz file (an archive has an end record)");
  const std::size_t count = load_le<std::uint16_t>(file.data() + at_end + 10),
                    begin = load_le<std::uint32_t>(file.data() + at_end + 16);
  if (begin > at_end) return fail(Code::CorruptData, "offset {}: the directory leaves the file", at_end + 16);
  ByteReader in(file.first(at_end).subspan(begin));
  std::map<std::string, NpyArray> arrays;
  std::set<std::string> names;
  std::size_t total = 0, unpacked = 0;
  for (std::size_t i = 0; i < count; ++i) {
    LOOM_TRY(Entry e, read_entry(in));
    total += e.stored;
    if (total > file.size()) return fail(Code::CorruptData, "the arrays overlap");
    std::string key = e.name.ends_with(".npy") ? e.name.substr(0, e.name.size() - 4) : e.name;
    if (!names.insert(key).second) return fail(Code::CorruptData, "the array {} appears twice", printable(key));
    if (!wanted.empty() && std::ranges::find(wanted, key) == wanted.end()) continue;
    if (e.method == kDeflated) unpacked += e.size;
    if (unpacked > kMostUnpacked)
      return fail(Code::LimitExceeded, "{}: more than {} bytes when unpacked", printable(key), kMostUnpacked);
    auto array = array_of(file, e);
    if (!array) return at(printable(key), std::move(array).error());
    arrays.emplace(std::move(key), std::move(*array));
  }
  return arrays;
}

Result<std::map<std::string, NpyArray>> read_npz(const std::string& path, std::span<const std::string_view> wanted) {
  LOOM_TRY(const auto file, MappedFile::open(path));
  auto arrays = parse_npz(file->bytes(), wanted);
  if (!arrays) return at(path, std::move(arrays).error());
  return arrays;
}

}  // namespace loom
