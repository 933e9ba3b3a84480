#include "backend/webgpu/shaders.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>

#include "core/file.h"
#include "core/sha256.h"
#include "core/system.h"

namespace loom::gpu {
namespace {

// A line of the file of passes: the form of dots that is the fastest, or the
// hash of a text, the sizes of tensors, and 2 where that was the second time.
constexpr std::string_view kDots = "dots ";
constexpr std::size_t kHashLetters = 64, kSizesLetters = 16, kLine = kHashLetters + kSizesLetters + 4;

void append_line(const std::string& path, std::string_view line) {
  int file = os::open(path, os::Access::append);
  if (file < 0) file = os::open(path, os::Access::create);
  if (file < 0) return;
  (void)os::write(file, std::as_bytes(std::span(line)));
  os::close(file);
}

// Kernels at the head of another's workgroups write rows that each of these has for itself.
void find_copies(Kernels kernels, Bindings& bindings) {
  if (kernels.size() == 1 || kernels.back().groups_of_row() == 0) return;
  struct Written {
    const void* at;
    std::size_t row;
  };
  std::array<Written, kMostOperands> written;
  std::size_t i = 0;
  for (const Kernel& kernel : kernels)
    for (const Kernel::Operand& operand : kernel.operands()) {
      std::uint32_t copy = 0;
      while (copy < bindings.copies && (written[copy].at != operand.at || written[copy].row != operand.row)) ++copy;
      if (copy == bindings.copies && operand.access == Access::Write && &kernel != &kernels.back()) {
        written[copy] = {operand.at, operand.row};
        bindings.copy_words[bindings.copies++] = static_cast<std::uint32_t>(operand.row);
      }
      bindings.copy[i++] = static_cast<std::uint8_t>(copy < bindings.copies ? copy + 1 : 0);
    }
}

}  // namespace

std::uint64_t sizes_of(Kernels kernels, std::uint64_t workgroups) {
  std::uint64_t sizes = std::bit_width(workgroups);
  if (kernels[0].is_beside()) {  // each is trusted for its own numbers
    for (std::size_t i = 0; i < kernels[0].numbers().size(); ++i) {
      if (kernels[0].numbers()[i].is_float) continue;
      std::uint32_t largest = 0;
      for (const Kernel& kernel : kernels) largest = std::max(largest, kernel.numbers()[i].bits);
      sizes = sizes * 0x100000001b3 + std::bit_width(largest);
    }
    return sizes;
  }
  for (const Kernel& kernel : kernels)
    for (const Kernel::Number& n : kernel.numbers())
      if (!n.is_float) sizes = sizes * 0x100000001b3 + std::bit_width(n.bits);
  return sizes;
}

Shaders::Shaders(Driver& driver, GpuOptions options) : driver_(driver), options_(std::move(options)) {
  set_dots(options_.dots.value_or(Dots::Packed));
}

void Shaders::read_passes() {
  if (options_.passes.empty()) return;
  const auto text = read_text_file(options_.passes);
  if (!text) return;
  for (std::string_view rest = *text; rest.size() >= kLine;) {
    const std::size_t end = rest.find('\n');
    if (end == rest.npos) break;
    const std::string_view line = rest.substr(0, end + 1);
    rest.remove_prefix(end + 1);
    if (line.size() != kLine) continue;
    const char* const digits = line.data() + kHashLetters + 1;
    std::uint64_t sizes = 0;
    if (std::from_chars(digits, digits + kSizesLetters, sizes, 16).ptr != digits + kSizesLetters) continue;
    Earlier& earlier = earlier_[std::string(line.substr(0, kHashLetters))];
    earlier.passes.push_back({sizes});
    earlier.again |= line[kLine - 2] == '2';
  }
}

void Shaders::set_sums(Sums sums) {
  sums_ = sums;
  shaders_.clear();
  last_ = nullptr;
}

void Shaders::set_dots(Dots dots) {
  dots_ = dots;
  prelude_left_ = precision() == Precision::Fast ? fast_prelude(dots) : prelude(Sums::Left, dots);
  prelude_kept_ = prelude(Sums::Kept, dots);
  set_sums(sums_);
}

std::optional<Dots> Shaders::read_dots() const {
  if (options_.passes.empty()) return {};
  const auto text = read_text_file(options_.passes);
  if (!text) return {};
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.starts_with(kDots)) continue;
    if (const auto dots = dots_from_name(line.substr(kDots.size()))) return dots;
  }
  return {};
}

void Shaders::keep_dots() const {
  if (!options_.passes.empty()) append_line(options_.passes, fmt::format("{}{}\n", kDots, name(dots_)));
}

Shader* Shaders::find(Kernels kernels, std::span<const Id> buffers) {
  Bindings bindings;
  std::array<Id, kMostOperands> slots;
  std::uint32_t written = 0;
  key_.clear();
  const auto add = [&](std::uint64_t value) { key_.push_back(value); };
  const auto address = [](std::string_view text) { return reinterpret_cast<std::uintptr_t>(text.data()); };
  std::size_t i = 0;
  for (const Kernel& kernel : kernels) {
    add(address(kernel.body())), add(address(kernel.name()));
    add(std::uint64_t{kernel.is_beside()} << 63 | std::uint64_t{kernel.threads()} << 32 | kernel.groups_of_row());
    for (const Kernel::Number& c : kernel.constants()) add(c.bits);
    for (const Kernel::Operand& operand : kernel.operands()) {
      std::uint32_t s = 0;
      while (s < bindings.buffers && slots[s] != buffers[i]) ++s;
      if (s == bindings.buffers) slots[bindings.buffers++] = buffers[i];
      bindings.slot[i] = static_cast<std::uint8_t>(s), bindings.copy[i] = 0;
      add(bindings.slot[i++]);
      if (operand.access != Access::Read) written |= 1u << s;
    }
  }
  bindings.read_only = ~written & ((1u << bindings.buffers) - 1);
  add(bindings.read_only);
  find_copies(kernels, bindings);
  for (std::size_t operand = 0; bindings.copies != 0 && operand < i; ++operand) add(bindings.copy[operand]);
  for (std::uint32_t c = 0; c < bindings.copies; ++c) add(bindings.copy_words[c]);
  if (last_ != nullptr && last_->next != nullptr && *last_->next->key == key_) return last_ = last_->next;
  Shader* const before = last_;
  const auto [known, is_new] = shaders_.try_emplace(key_);
  last_ = &known->second;
  if (before != nullptr) before->next = last_;
  if (is_new) {
    std::fill(bindings.copy_words.begin() + bindings.copies, bindings.copy_words.end(), 0u);
    known->second.key = &known->first, known->second.bindings = bindings;
    begin(known->second, kernels);
  }
  return last_;
}

// Sets the state of a shader that is used for the first time.
void Shaders::begin(Shader& shader, Kernels kernels) {
  shader.name = kernels.back().name(), shader.sums = sums_;
  shader.problem = limit_below(shader, kernels);
  judge(shader, kernels);
  // One that has passed with the second level of sums alone is known by the text of that.
  if (shader.passes.empty() && sums_ == Sums::Left && !earlier_.empty()) {
    shader.sums = Sums::Kept;
    judge(shader, kernels);
    if (shader.passes.empty()) set_sums(shader, kernels, Sums::Left);
  }
}

// Which limit of the device is too small for a shader; empty: none that is known before it is compiled.
std::string Shaders::limit_below(const Shader& shader, Kernels kernels) const {
  const Limits& limits = driver_.adapter().limits;
  if (shader.bindings.buffers > limits.storage_buffers)
    return fmt::format("{} needs {} storage buffers, the device binds {}", shader.name, shader.bindings.buffers,
                       limits.storage_buffers);
  if (kernels[0].threads() > limits.threads)
    return fmt::format("{} needs {} threads in a workgroup, the device runs {}", shader.name, kernels[0].threads(),
                       limits.threads);
  return {};
}

std::string Shaders::text_of(const Shader& shader, Kernels kernels) const {
  std::string text = shader_text(kernels, shader.bindings, shader.sums == Sums::Left ? prelude_left_ : prelude_kept_);
  if (precision() == Precision::Fast) text = with_rounding_kept(text);
  return options_.alter != nullptr ? options_.alter(text) : text;
}

void Shaders::judge(Shader& shader, Kernels kernels) {
  Sha256 hash;
  const std::string text = text_of(shader, kernels);
  hash.update(std::as_bytes(std::span(text)));
  shader.text_hash = to_hex(hash.finish());
  const auto known = earlier_.find(shader.text_hash);
  const Earlier earlier = known == earlier_.end() ? Earlier{} : known->second;
  shader.passes = earlier.passes, shader.passed_again = earlier.again;
}

void Shaders::set_sums(Shader& shader, Kernels kernels, Sums sums) {
  shader.sums = sums, shader.pipeline = 0;
  judge(shader, kernels);
}

Result<Id> Shaders::compile(Shader& shader, Kernels kernels) {
  if (shader.pipeline != 0) return shader.pipeline;
  if (!shader.problem.empty()) return fail(Code::Unsupported, "{}: {}", driver_.adapter().name, shader.problem);
  LOOM_TRY(shader.pipeline, driver_.create_pipeline(shader.name, text_of(shader, kernels), shader.bindings.buffers,
                                                    shader.bindings.read_only));
  compiled_.emplace_back(shader.pipeline, shader.name);
  return shader.pipeline;
}

void Shaders::pass(Shader& shader, std::uint64_t sizes, unsigned trials) {
  auto pass = std::ranges::find(shader.passes, sizes, &Shader::Pass::sizes);
  if (pass == shader.passes.end()) pass = shader.passes.insert(pass, {sizes, trials});
  if (pass->missing != 0 && --pass->missing != 0) return;
  shader.passed_again |= shader.uses >= Shader::kUsesToNextTrial;
  if (options_.passes.empty()) return;
  // A pass that cannot be kept is proved again by the next run.
  append_line(options_.passes,
              fmt::format("{} {:0{}x} {}\n", shader.text_hash, sizes, kSizesLetters, shader.passed_again ? 2 : 1));
}

std::string_view Shaders::name_of(Id pipeline) const {
  const auto of = std::ranges::find(compiled_, pipeline, &std::pair<Id, std::string_view>::first);
  return of == compiled_.end() ? std::string_view() : of->second;
}

Id Shaders::group(const Shader& shader, Id parameters, std::span<const Id> buffers) {
  key_.assign(1, std::uint64_t{shader.bindings.buffers} << 32 | shader.bindings.read_only);
  std::array<Id, kMostOperands> bound;
  for (std::size_t i = 0; i < buffers.size(); ++i) bound[shader.bindings.slot[i]] = buffers[i];
  key_.insert(key_.end(), bound.begin(), bound.begin() + shader.bindings.buffers);
  Id& group = groups_[key_];
  if (group == 0) group = driver_.create_group(shader.pipeline, parameters, {bound.data(), shader.bindings.buffers});
  return group;
}

void Shaders::drop_groups(Id buffer) {
  for (auto group = groups_.begin(); group != groups_.end();) {
    const bool holds = std::find(group->first.begin() + 1, group->first.end(), buffer) != group->first.end();
    if (holds) driver_.destroy_group(group->second);
    group = holds ? groups_.erase(group) : std::next(group);
  }
}

}  // namespace loom::gpu
