#include <algorithm>

#include "core/checked.h"
#include "core/file.h"
#include "core/little_endian.h"
#include "io/npy/npy.h"
#include "io/npy/npy_types.h"

namespace loom {

Result<std::string> npy_header(DType dtype, std::span<const std::size_t> shape, bool is_bool) {
  const auto* type = std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes),
                                  [&](const NpyType& k) { return k.dtype == dtype && k.is_bool == is_bool; });
  if (type == std::end(kNpyTypes))
    return fail(Code::Unsupported, ".npy has no type for {}{}", name(dtype), is_bool ? " as bool" : "");
  if (shape.size() > kMaxNpyRank)
    return fail(Code::Unsupported, "{} axes, at most {} are written", shape.size(), kMaxNpyRank);
  std::string extents;
  for (const std::size_t extent : shape) extents += fmt::format("{}{}", extents.empty() ? "" : ", ", extent);
  if (shape.size() == 1) extents += ',';
  std::string dict = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 info(dtype).bits == 8 ? '|' : '<', type->name, extents);
  // NumPy leaves room for the first extent to grow to 21 digits in place, then pads so that the data starts at a
  // multiple of 64.
  if (!shape.empty()) dict.append(21 - fmt::formatted_size("{}", shape[0]), ' ');
  const std::size_t before = kNpyMagic.size() + 4;
  dict.append(64 - (before + dict.size() + 1) % 64, ' ');
  dict += '\n';
  std::byte length[2];
  store_le(length, static_cast<std::uint16_t>(dict.size()));
  std::string header(kNpyMagic);
  header += '\1';
  header += '\0';
  header.append(reinterpret_cast<const char*>(length), sizeof length);
  return header + dict;
}

Result<void> write_npy(const std::string& path, DType dtype, std::span<const std::size_t> shape,
                       std::span<const std::byte> bytes, bool is_bool) {
  LOOM_TRY(const std::string header, npy_header(dtype, shape, is_bool));
  std::size_t size = info(dtype).block_bytes;
  for (const std::size_t extent : shape) {
    LOOM_TRY(size, checked_mul(size, extent));
  }
  if (size != bytes.size())
    return fail(Code::ShapeMismatch, "{}: {} bytes, shape and type need {}", path, bytes.size(), size);
  LOOM_TRY(auto file, AtomicFile::create(path));
  LOOM_TRY_VOID(file.write(std::as_bytes(std::span(header))));
  LOOM_TRY_VOID(file.write(bytes));
  return file.commit();
}

}  // namespace loom
