#pragma once
// One operation on a graphics card, as an op records it: the body of a shader, the tensors and numbers that it meets.
// The rest of the shader is written from these (kernel.cpp). A body is WGSL with a function
//   fn run(group: u32, thread: u32)
// that is called once per thread of every workgroup, and finds
//   load_x(i) -> f32, bits_x(i) -> u32        element i of a tensor "x" that is read
//   store_x(i, f32), put_x(i, u32)            of one that is written
//   rows()                                    a number "rows", of type u32 or f32, that may differ from call to call
//   cols                                      a fixed one: another value is another shader
// beside all of wgsl/prelude.wgsl. Tensors are words of 32 bits; floats have no operators in a body but functions of
// the prelude, which keep every rounding.

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace loom::gpu {

enum class Access : std::uint8_t { Read, Write, Both };

class Kernel {
 public:
  struct Operand {
    std::string_view name;
    const void* at;
    Access access;
    std::size_t row;  // of words that a row has, for kernels by rows; 0: all rows see all of it
  };
  struct Number {
    std::string_view name;
    std::uint32_t bits;
    bool is_float;
  };

  static constexpr std::uint32_t kThreads = 64;  // of a workgroup, where nothing speaks for another number
  // All names and the body outlive the device: they are literals or kept for ever.
  Kernel(std::string_view name, std::string_view body, std::uint32_t threads = kThreads)
      : name_(name), body_(body), threads_(threads) {}

  Kernel& operand(std::string_view tensor, const void* at, Access access, std::size_t row = 0) {
    return add({tensor, at, access, row});
  }
  Kernel& reads(std::string_view tensor, const void* at, std::size_t row = 0) {
    return add({tensor, at, Access::Read, row});
  }
  Kernel& writes(std::string_view tensor, void* at, std::size_t row = 0) {
    return add({tensor, at, Access::Write, row});
  }
  Kernel& updates(std::string_view tensor, void* at, std::size_t row = 0) {
    return add({tensor, at, Access::Both, row});
  }
  // So many workgroups read and write each row of operands that have rows, row after row, and no others do: kernels by
  // rows that were recorded before may then run at the head of each of them (GpuDevice::record).
  Kernel& groups_of_row(std::size_t groups) {
    groups_of_row_ = static_cast<std::uint32_t>(groups);
    return *this;
  }
  // One of kernels with one body that run beside each other in one dispatch (GpuDevice::record_beside).
  Kernel& beside(bool is_beside = true) {
    is_beside_ = is_beside;
    return *this;
  }
  // Uses the units of subgroups that multiply matrices (AdapterInfo::has_matrix_units).
  Kernel& on_matrix_units(bool is_on_units = true) {
    is_on_units_ = is_on_units;
    return *this;
  }
  template <std::integral T>
  Kernel& number(std::string_view name, T value) {
    return put(numbers_, num_numbers_, {name, static_cast<std::uint32_t>(value), false});
  }
  Kernel& number(std::string_view name, float value) {
    return put(numbers_, num_numbers_, {name, std::bit_cast<std::uint32_t>(value), true});
  }
  Kernel& fixed(std::string_view name, std::size_t value) {
    return put(constants_, num_constants_, {name, static_cast<std::uint32_t>(value), false});
  }

  std::string_view name() const { return name_; }
  std::string_view body() const { return body_; }
  std::uint32_t threads() const { return threads_; }
  std::uint32_t groups_of_row() const { return groups_of_row_; }  // 0: it has no rows of that kind
  bool is_beside() const { return is_beside_; }
  bool is_on_matrix_units() const { return is_on_units_; }
  std::span<const Operand> operands() const { return {operands_.data(), num_operands_}; }
  std::span<const Number> numbers() const { return {numbers_.data(), num_numbers_}; }
  std::span<const Number> constants() const { return {constants_.data(), num_constants_}; }

  static constexpr std::size_t kMostTensors = 24, kMostNumbers = 40;

 private:
  Kernel& add(const Operand& operand) {
    LOOM_ASSERT(num_operands_ < kMostTensors);
    operands_[num_operands_++] = operand;
    return *this;
  }
  Kernel& put(std::array<Number, kMostNumbers>& list, std::size_t& count, const Number& number) {
    LOOM_ASSERT(count < kMostNumbers);
    list[count++] = number;
    return *this;
  }

  std::string_view name_, body_;
  std::uint32_t threads_, groups_of_row_ = 0;
  bool is_beside_ = false, is_on_units_ = false;
  std::array<Operand, kMostTensors> operands_{};
  std::array<Number, kMostNumbers> numbers_{}, constants_{};
  std::size_t num_operands_ = 0, num_numbers_ = 0, num_constants_ = 0;
};

// Kernels that run one after the other in each workgroup, so that none waits for another's workgroups: they are made
// for that (GpuDevice::record_row). Mostly there is one. The last one may have several workgroups for each row
// (groups_of_row()); each of them then makes for itself what the others write, and keeps it in memory of the workgroup,
// while the first one of a row alone writes it for kernels to come.
// Kernels that run beside each other (Kernel::beside) have one body, equal constants and as many workgroups each: the
// first workgroups of the dispatch run the first kernel. Their workgroup memory is declared once.
using Kernels = std::span<const Kernel>;
inline constexpr std::size_t kMostKernels = 7, kMostOperands = 40;
inline constexpr std::size_t kMostBeside = 4;  // each is compiled, and time of compilers grows with the text

// Of one of those, over so many rows.
inline std::uint64_t workgroups_of(const Kernel& kernel, std::uint64_t rows) {
  return rows * (kernel.groups_of_row() == 0 ? 1 : kernel.groups_of_row());
}

// Storage buffers that kernels are bound to: operand i, counted through all of them, is in buffer slot[i]; bit s of
// `read_only` is set where no operand of slot s is written. Nothing of a list counts beyond its operands or copies.
struct Bindings {
  std::array<std::uint8_t, kMostOperands> slot;
  std::uint32_t buffers = 0, read_only = 0;
  // Copies that workgroups keep: operand i is copy[i] - 1, of copy_words words; 0: it is in its buffer only.
  std::array<std::uint8_t, kMostOperands> copy;
  std::array<std::uint32_t, kMostOperands> copy_words;
  std::uint32_t copies = 0;
};

// The words of a dispatch's parameters: a zero that no compiler can know of, the number of workgroups, then for each
// kernel where its operands begin in their buffers, and its numbers.
inline constexpr std::size_t kFirstOperandWord = 2;
std::size_t parameter_words(Kernels kernels);

// One text after the other, for bodies made of several.
std::string joined(std::initializer_list<std::string_view> texts);

// The head of a shader that uses the units for matrices. It takes the threads 0 to 31, 32 to 63 and so on for its
// subgroups, which no compiler knows.
inline constexpr std::string_view kMatrixUnitsHead = R"(enable chromium_experimental_subgroup_matrix;
enable subgroups;
diagnostic(off, chromium.subgroup_matrix_uniformity);
)";

// The whole shader.
std::string shader_text(Kernels kernels, const Bindings& bindings, std::string_view prelude);

}  // namespace loom::gpu
