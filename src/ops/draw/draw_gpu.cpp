#include "ops/draw/draw_gpu.h"

#include <bit>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "core/philox.h"
#include "ops/draw/draw.wgsl.h"
#include "ops/draw/join_lists.wgsl.h"
#include "ops/draw/shortlist.wgsl.h"
#include "ops/draw/sorted.wgsl.h"
#include "ops/draw/take_lists.wgsl.h"
#include "ops/draw/weights.wgsl.h"
#include "ops/draw/wide_exp.wgsl.h"
#include "ops/fold/wide.wgsl.h"

namespace loom {
namespace {

constexpr std::size_t kSorted = kDrawPart;  // candidates of a workgroup
constexpr std::size_t kRowWords = 18, kChangeWords = 4;

// One after the other: the words of all rows, then the changes of each with their biases.
void lay_out_drawings(std::span<const Drawing> drawings, std::span<std::uint32_t> words) {
  std::size_t next = drawings.size() * kRowWords;
  for (std::size_t r = 0; r < drawings.size(); ++r) {
    const Drawing& d = drawings[r];
    std::uint32_t* row = words.data() + r * kRowWords;
    const auto put = [&](auto value) { *row++ = static_cast<std::uint32_t>(value); };
    const auto put_float = [&](float value) { *row++ = std::bit_cast<std::uint32_t>(value); };
    put(d.top_k), put_float(d.temperature), put_float(d.top_p), put_float(d.min_p + 0.0f);
    put_float(d.repetition_penalty), put_float(d.frequency_penalty), put_float(d.presence_penalty);
    put(d.seed), put(d.seed >> 32), put(d.position), put(d.session);
    put(next), put(d.changes.size()), put(d.recent.size());
    for (const std::uint32_t place : d.recent) put(place);
    std::size_t bias = next + d.changes.size() * kChangeWords;
    for (const LogitChange& change : d.changes) {
      words[next++] = static_cast<std::uint32_t>(change.id);
      words[next++] = change.count | (change.is_banned ? 0x80000000u : 0);
      words[next++] = static_cast<std::uint32_t>(bias);
      words[next++] = static_cast<std::uint32_t>(bias + change.biases.size());
      for (const float value : change.biases) words[bias++] = std::bit_cast<std::uint32_t>(value);
    }
    next = bias;
  }
}

}  // namespace

std::size_t draw_words(const Drawing& drawing) {
  std::size_t words = kRowWords + drawing.changes.size() * kChangeWords;
  for (const LogitChange& change : drawing.changes) words += change.biases.size();
  return words;
}

namespace gpu {

void draw(const Exec& exec, ConstTensor x, std::span<const Drawing> drawings, std::span<const std::int32_t> recent,
          std::span<std::int32_t> ids) {
  static const std::string shortlist =
                               joined({wgsl::wide, wgsl::wide_exp, wgsl::sorted, wgsl::weights, wgsl::shortlist}),
                           join = joined({wgsl::sorted, wgsl::take_lists, wgsl::join_lists}),
                           last = joined(
                               {wgsl::wide, wgsl::wide_exp, wgsl::sorted, wgsl::weights, wgsl::take_lists, wgsl::draw});
  GpuDevice& card = *exec.gpu();
  const ArenaScope scope(exec.arena);
  std::size_t keep = 64, num_words = 0;
  for (const Drawing& d : drawings) {
    if (d.top_k > keep || d.top_k == 0) keep = kMostDrawn;
    num_words += draw_words(d);
  }
  LOOM_ASSERT(num_words <= kMostDrawWords);
  const std::size_t room = exec.rehearsal() ? kMostDrawWords : num_words;
  const std::span<std::uint32_t> words(exec.arena.note<std::uint32_t>(room), room);
  if (!exec.rehearsal()) lay_out_drawings(drawings, words);
  const void* const rows = card.upload(exec, std::span<const std::uint32_t>(words));

  const std::size_t all_parts = ceil_div(x.cols, kSorted);
  std::size_t parts = all_parts;
  const auto lists = [&](std::size_t count) { return exec.arena.take<std::uint32_t>(x.rows * count * keep * 2); };
  void* found = lists(parts);
  void* const sums = exec.arena.take<std::uint32_t>(x.rows * all_parts * 3);
  card.record(exec,
              Kernel("shortlist", shortlist, GpuDevice::kRowThreads)
                  .reads("x", x.data)
                  .reads("rows", rows)
                  .reads("recent", recent.empty() ? x.data : recent.data())
                  .writes("shortlist", found)
                  .writes("sums", sums)
                  .number("cols", x.cols)
                  .number("parts", parts)
                  .number("kept", keep)
                  .fixed("row_words", kRowWords),
              x.rows * parts);
  while (parts * keep > kSorted) {
    const std::size_t groups = ceil_div(parts * keep, kSorted);
    void* const less = lists(groups);
    card.record(exec,
                Kernel("join_lists", join, GpuDevice::kRowThreads)
                    .reads("shortlists", found)
                    .writes("joined", less)
                    .number("parts", parts)
                    .number("groups", groups)
                    .number("kept", keep),
                x.rows * groups);
    found = less, parts = groups;
  }
  card.record(exec,
              Kernel("draw", last, GpuDevice::kRowThreads)
                  .reads("shortlists", found)
                  .reads("sums", sums)
                  .reads("rows", rows)
                  .writes("ids", ids.data())
                  .number("parts", parts)
                  .number("kept", keep)
                  .number("all_parts", all_parts)
                  .fixed("most_parts", kMostDrawColumns / kSorted)
                  .fixed("row_words", kRowWords)
                  .fixed("sample_domain", static_cast<std::size_t>(RandomDomain::Sample)),
              x.rows);
}

}  // namespace gpu
}  // namespace loom
