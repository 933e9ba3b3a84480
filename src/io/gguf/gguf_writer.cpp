#include "io/gguf/gguf_writer.h"

#include <algorithm>
#include <array>

#include "core/checked.h"
#include "core/nearest.h"
#include "io/byte_reader.h"

namespace loom {
namespace {

constexpr std::size_t kMaxName = 63;
constexpr std::uint32_t kVersion = 3;

Result<void> write_padding(AtomicFile& file, std::size_t written, std::size_t alignment) {
  constexpr std::array<std::byte, 256> kZeros{};
  std::size_t left = round_up(written, alignment) - written;
  while (left > 0) {
    const std::size_t part = std::min(left, kZeros.size());
    LOOM_TRY_VOID(file.write(std::span(kZeros).first(part)));
    left -= part;
  }
  return {};
}

}  // namespace

GgufWriter::GgufWriter(std::uint32_t alignment) : alignment_(alignment) {
  LOOM_ASSERT(std::has_single_bit(alignment));
  if (alignment != 32) set("general.alignment", alignment);
}

std::string GgufWriter::text_bytes(std::string_view text) {
  return bytes_of(static_cast<std::uint64_t>(text.size())) + std::string(text);
}

void GgufWriter::put(std::string_view key, GgufType type, const std::string& bytes) {
  std::string value = bytes_of(static_cast<std::uint32_t>(type)) + bytes;
  const auto [at, is_new] = entries_by_key_.try_emplace(std::string(key), entries_.size());
  if (is_new)
    entries_.push_back({std::string(key), std::move(value)});
  else
    entries_[at->second].bytes = std::move(value);
}

void GgufWriter::put_array(std::string_view key, GgufType element, std::size_t count, const std::string& bytes) {
  put(key, GgufType::Array,
      bytes_of(static_cast<std::uint32_t>(element)) + bytes_of(static_cast<std::uint64_t>(count)) + bytes);
}

void GgufWriter::set(std::string_view key, std::string_view value) { put(key, GgufType::String, text_bytes(value)); }

void GgufWriter::set(std::string_view key, const std::vector<std::string_view>& values) {
  std::string bytes;
  for (const std::string_view v : values) bytes += text_bytes(v);
  put_array(key, GgufType::String, values.size(), bytes);
}

void GgufWriter::copy(const GgufValue& value) {
  const std::string bytes(as_text(value.bytes));
  if (value.key == "general.alignment") return;
  if (value.type == GgufType::Array)
    put_array(value.key, value.element, static_cast<std::size_t>(value.count), bytes);
  else if (value.type == GgufType::String)
    set(value.key, as_text(value.bytes));
  else
    put(value.key, value.type, bytes);
}

Result<void> GgufWriter::add_tensor(std::string_view name, DType dtype, std::span<const std::size_t> shape,
                                    Producer producer) {
  const std::string shown = printable(name);
  if (name.empty() || name.size() > kMaxName)
    return fail(Code::InvalidArgument, "tensor name \"{}\" has {} bytes, expected 1 to {}", shown, name.size(),
                kMaxName);
  if (tensor_names_.contains(name)) return fail(Code::InvalidArgument, "tensor \"{}\" was added before", shown);
  if (!ggml_type(dtype))
    return fail(Code::Unsupported, "tensor \"{}\": GGUF has no type for {}", shown, loom::name(dtype));
  if (shape.empty() || shape.size() > 4)
    return fail(Code::ShapeMismatch, "tensor \"{}\": {} axes, expected 1 to 4", shown, shape.size());
  auto size = row_bytes(dtype, shape.back());
  for (std::size_t i = 0; size && i + 1 < shape.size(); ++i) size = checked_mul(*size, shape[i]);
  if (!size) return at(fmt::format("tensor \"{}\"", shown), size.error());
  if (*size == 0) return fail(Code::ShapeMismatch, "tensor \"{}\" has no elements", shown);
  tensor_names_.emplace(name);
  tensors_.push_back({std::string(name), dtype, {shape.begin(), shape.end()}, *size, {}, std::move(producer)});
  return {};
}

Result<void> GgufWriter::add_tensor(std::string_view name, DType dtype, std::span<const std::size_t> shape,
                                    std::span<const std::byte> bytes) {
  LOOM_TRY_VOID(add_tensor(name, dtype, shape, Producer()));
  Pending& t = tensors_.back();
  if (t.size != bytes.size()) {
    const std::size_t needed = t.size;
    tensors_.pop_back();
    tensor_names_.erase(tensor_names_.find(name));
    return fail(Code::ShapeMismatch, "tensor \"{}\": {} bytes, its shape needs {}", printable(name), bytes.size(),
                needed);
  }
  t.bytes = bytes;
  return {};
}

Result<void> GgufWriter::write(const std::string& path) const {
  std::string head = "GGUF" + bytes_of(kVersion) + bytes_of(static_cast<std::uint64_t>(tensors_.size())) +
                     bytes_of(static_cast<std::uint64_t>(entries_.size()));
  for (const Entry& e : entries_) head += text_bytes(e.key) + e.bytes;
  std::size_t offset = 0;
  for (const Pending& t : tensors_) {
    head += text_bytes(t.name) + bytes_of(static_cast<std::uint32_t>(t.shape.size()));
    for (std::size_t i = t.shape.size(); i-- > 0;) head += bytes_of(static_cast<std::uint64_t>(t.shape[i]));
    head += bytes_of(*ggml_type(t.dtype)) + bytes_of(static_cast<std::uint64_t>(offset));
    offset = round_up(offset + t.size, alignment_);
  }
  LOOM_TRY(auto file, AtomicFile::create(path));
  LOOM_TRY_VOID(file.write(std::as_bytes(std::span(head))));
  LOOM_TRY_VOID(write_padding(file, head.size(), alignment_));
  for (const Pending& t : tensors_) {
    std::vector<std::byte> made;
    if (t.producer) {
      LOOM_TRY(made, t.producer());
      if (made.size() != t.size)
        return fail(Code::ShapeMismatch, "tensor \"{}\": {} bytes were made, its shape needs {}", printable(t.name),
                    made.size(), t.size);
    }
    LOOM_TRY_VOID(file.write(t.producer ? std::span<const std::byte>(made) : t.bytes));
    LOOM_TRY_VOID(write_padding(file, t.size, alignment_));
  }
  return file.commit();
}

}  // namespace loom
