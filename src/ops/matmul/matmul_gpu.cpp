#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "dtypes/panel_pages.h"
#include "ops/elementwise/elementwise_gpu.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/gemm_gpu.h"
#include "ops/matmul/blocks_few.wgsl.h"
#include "ops/matmul/code_panels.wgsl.h"
#include "ops/matmul/code_terms.wgsl.h"
#include "ops/matmul/float_panels.wgsl.h"
#include "ops/matmul/float_terms.wgsl.h"
#include "ops/matmul/fp4_terms.wgsl.h"
#include "ops/matmul/inputs.wgsl.h"
#include "ops/matmul/matmul_gpu.h"
#include "ops/matmul/matrix_gpu.h"
#include "ops/matmul/nibbles_once.wgsl.h"
#include "ops/matmul/outputs.wgsl.h"
#include "ops/matmul/pairs_once.wgsl.h"
#include "ops/matmul/plain_units.wgsl.h"
#include "ops/matmul/rows_many.wgsl.h"
#include "ops/matmul/rows_once.wgsl.h"
#include "ops/matmul/rows_tile.wgsl.h"
#include "ops/matmul/rows_units.wgsl.h"
#include "ops/matmul/tile_terms.wgsl.h"
#include "ops/matmul/tiles_gpu.h"
#include "ops/matmul/units.wgsl.h"

namespace loom::gpu {
namespace {

constexpr float kFp8E4M3Unit = 0x1p8f;       // chains of fp8e4m3 count 2^-8 (dtypes/panel_codecs.h)
constexpr std::size_t kInputWords = 20;      // of a block of inputs
constexpr std::size_t kManyColumns = 2048;   // of which threads take two steps at a time
constexpr std::size_t kFewColumns = 1024;    // which are too few for the lanes of nibbles_once.wgsl
constexpr std::size_t kSharedRows = 32;      // of x, of which blocks_few.wgsl takes the codes once for four
constexpr std::size_t kSharedColumns = 256;  // fewer are too few for its lanes

// x in the forms that the weights of a call ask for, each once.
struct Inputs {
  struct Form {
    QuantizedRows like;
    std::uint32_t* words = nullptr;
    float* scales = nullptr;
  };
  std::array<Form, 12> forms;
  std::size_t count = 0;

  static bool digits(const QuantizedRows& q) { return q.form != InputForm::Codes; }
  const Form& take(const Exec& exec, ConstTensor x, const QuantizedRows& like) {
    for (std::size_t i = 0; i < count; ++i)
      if (digits(forms[i].like) == digits(like) && forms[i].like.scale_cols == like.scale_cols &&
          forms[i].like.splits_scale == like.splits_scale)
        return forms[i];
    LOOM_ASSERT(count < forms.size());
    Form& form = forms[count++];
    form.like = like;
    form.words = exec.arena.take<std::uint32_t>(x.rows * ceil_div(x.cols, kBlockCols) * kInputWords);
    form.scales = exec.arena.take<float>(x.rows);
    const std::size_t parts = parts_of_rows(exec, x, like), cols = x.cols / parts, blocks = ceil_div(cols, kBlockCols);
    // Kernels that wait with a workgroup for each row, such as a norm, run at the head of every part of theirs: of few
    // rows, since each part repeats them.
    const bool leads = parts > 1 && x.rows <= kFewRows && waiting_rows(exec) == x.rows;
    const std::size_t parts_of_operand = leads ? parts : 1, row = blocks * kInputWords * parts_of_operand;
    Kernel kernel("quantise_inputs", wgsl::inputs, GpuDevice::kRowThreads);
    kernel.reads("x", x.data, cols * parts_of_operand).writes("inputs", form.words, row);
    // Parts have no scales of rows, and more rows than there is room for.
    parts == parts_of_operand ? kernel.writes("input_scales", form.scales, 1)
                              : kernel.writes("input_scales", form.words, row);
    kernel.number("least", like.floor)
        .fixed("cols", cols)
        .fixed("blocks", blocks)
        .fixed("span", like.scale_cols)
        .fixed("digits", digits(like))
        .fixed("splits_scale", like.splits_scale);
    leads ? exec.gpu()->record(exec, kernel.groups_of_row(parts), x.rows * parts)
          : exec.gpu()->record_row(exec, kernel, x.rows * parts);
    return form;
  }
  static std::size_t waiting_rows(const Exec& exec) { return exec.rehearsal() ? 0 : exec.gpu()->waiting_rows(); }
  // Pieces of a row that are rounded like rows: as many as the kernels made that wait, such as the heads of attention,
  // or as take a workgroup one round each where the row is long.
  static std::size_t parts_of_rows(const Exec& exec, ConstTensor x, const QuantizedRows& like) {
    constexpr std::size_t kRound = 4 * GpuDevice::kRowThreads, kLong = 4 * kRound;
    const auto fits = [&](std::size_t parts) {
      return parts > 1 && like.scale_cols != 0 && !like.splits_scale &&
             x.cols % (parts * std::max(like.scale_cols, kBlockCols)) == 0;
    };
    const std::size_t waiting = waiting_rows(exec);
    if (waiting % x.rows == 0 && fits(waiting / x.rows)) return waiting / x.rows;
    std::size_t parts = x.cols < kLong ? 1 : x.cols / kRound;
    while (parts > 1 && !fits(parts)) --parts;
    return parts;
  }
};

}  // namespace

const std::byte* place_weight(const Exec& exec, const Matrix& m, const void* from, std::size_t bytes) {
  const std::span<const std::byte> of_host{static_cast<const std::byte*>(from), bytes};
  if (const std::byte* const known = exec.gpu()->find_copy(m.token(), of_host)) return known;
  const auto placed = [&]() -> Result<const std::byte*> {
    if (const std::optional<Error>& lost = exec.gpu()->lost()) return tl::make_unexpected(*lost);
    LOOM_TRY(const PanelHold held, PanelHold::take(m));
    return exec.gpu()->place(m.token(), of_host);
  };
  auto at = placed();
  if (at) return *at;
  Error& error = at.error().in_source(fmt::format("a weight of {} x {}", m.rows(), m.cols()));
  if (!exec.status) exec.status = std::move(error);
  return nullptr;
}

const std::byte* place_written_panels(const Exec& exec, const Matrix& m) {
  auto held = PanelHold::take(m);
  if (!held) {
    if (!exec.status) exec.status = std::move(held).error();
    return nullptr;
  }
  held->keep();
  return place_weight(exec, m, m.panel(0), m.panels() * m.panel_bytes());
}

bool has_panels(Device& device, const Matrix& m) {
  return device.gpu() != nullptr &&
         device.gpu()->find_copy(m.token(), {m.panel(0), m.panels() * m.panel_bytes()}) != nullptr;
}

bool add_matrix(const Exec& exec, const Matrix& m, Kernel& kernel, const MatrixNames& names) {
  const PanelLayout& layout = m.layout();
  const PanelTraits& kind = traits(layout.kind);
  if (kind.inputs == PanelInputs::F64) {
    if (!exec.status)
      exec.status = Error{Code::Unsupported,
                          fmt::format("{} weights are not computed on graphics cards: --device cpu", name(m.dtype()))};
    return false;
  }
  const std::byte* weight = nullptr;
  const auto place = [&](std::string_view tensor, const void* from, std::size_t bytes) {
    if (exec.rehearsal()) return true;
    if (from == nullptr) {
      kernel.reads(tensor, weight);
      return true;
    }  // the text names it and never reads it
    const std::byte* const at = place_weight(exec, m, from, bytes);
    weight = weight == nullptr ? at : weight;
    kernel.reads(tensor, at);
    return at != nullptr;
  };
  const std::size_t row_bytes = m.panels() * kPanelRows * 4;
  if (!place(names.weight, m.panel(0), m.panels() * m.panel_bytes()) ||
      !place(names.row_scales, m.row_scales(), row_bytes) || !place(names.row_zeros, m.row_zeros(), row_bytes))
    return false;
  return true;
}

void add_layout(const Matrix& m, Kernel& kernel) {
  const PanelLayout& layout = m.layout();
  const PanelTraits& kind = traits(layout.kind);
  kernel.fixed("panel_bytes", m.panel_bytes()).fixed("cols", m.cols());
  if (!kind.holds_codes()) {
    const float unit = layout.kind == PanelKind::Fp8E4M3 ? kFp8E4M3Unit : 1.0f;
    kernel.fixed("kind", static_cast<std::size_t>(layout.kind)).fixed("unit", std::bit_cast<std::uint32_t>(unit));
    return;
  }
  kernel.fixed("bits", kind.code_bits)
      .fixed("low_bits", low_plane_bits(kind.code_bits))
      .fixed("blocks", ceil_div(m.cols(), kBlockCols))
      .fixed("block_code_bytes", kind.block_code_bytes())
      .fixed("factor_bytes", layout.factor_bytes())
      .fixed("super_at", layout.super_at())
      .fixed("sub_cols", layout.sub_cols)
      .fixed("share", layout.input_blocks())
      .fixed("factors", static_cast<std::size_t>(layout.factors))
      .fixed("has_min", layout.has_min)
      .fixed("has_zeros", layout.has_zeros)
      .fixed("code_offset", static_cast<std::uint32_t>(std::int32_t{layout.code_offset}))
      .fixed("scale_offset", layout.scale_offset)
      .fixed("twice_fp4", layout.kind == PanelKind::BlockTwiceFp4)
      .fixed("row_scaled", layout.has_row_scales());
}

namespace {

constexpr std::size_t kMostJobs = 4;
constexpr MatrixNames kMatrixNames[kMostJobs] = {{"weight_0", "row_scales_0", "row_zeros_0"},
                                                 {"weight_1", "row_scales_1", "row_zeros_1"},
                                                 {"weight_2", "row_scales_2", "row_zeros_2"},
                                                 {"weight_3", "row_scales_3", "row_zeros_3"}};
constexpr std::string_view kOutputNames[] = {"y_0", "y_1", "y_2", "y_3"};
constexpr std::string_view kBiasNames[] = {"bias_0", "bias_1", "bias_2", "bias_3"};
constexpr std::string_view kPanelCounts[] = {"panels_0", "panels_1", "panels_2", "panels_3"};
constexpr std::string_view kOutputCounts[] = {"outputs_0", "outputs_1", "outputs_2", "outputs_3"};

// Products that share their inputs and a layout become one kernel: a workgroup finds its product and uses that one's
// weight, bias and y.
std::string jobs_text(std::size_t jobs) {
  std::string text = "\nvar<private> job: u32;\n";
  const auto choice = [&](std::string_view head, std::string_view call) {
    text += fmt::format("{} {{\n  switch (job) {{\n", head);
    for (std::size_t j = jobs; j-- > 0;) {
      const std::string body = fmt::format(fmt::runtime(call), j);
      text += j == 0 ? fmt::format("    default: {{ {} }}\n  }}\n}}\n", body)
                     : fmt::format("    case {}u: {{ {} }}\n", j, body);
    }
  };
  choice("fn bits_weight(i: u32) -> u32", "return bits_weight_{0}(i);");
  choice("fn load_row_scales(i: u32) -> f32", "return load_row_scales_{0}(i);");
  choice("fn bits_row_zeros(i: u32) -> u32", "return bits_row_zeros_{0}(i);");
  choice("fn load_bias(i: u32) -> f32", "return load_bias_{0}(i);");
  choice("fn store_y(i: u32, value: f32)", "store_y_{0}(i, value);");
  choice("fn outputs() -> u32", "return outputs_{0};");
  text +=
      "// The panel of its matrix that panel p of all is.\nfn take_job(p: u32) -> u32 {\n  var panel = p;\n  job = "
      "0u;\n";
  for (std::size_t j = 0; j + 1 < jobs; ++j)
    text += fmt::format(
        "  if (job == {0}u && panel >= panels_{0}) {{\n    panel -= panels_{0};\n    job = {1}u;\n  }}\n", j, j + 1);
  return text + "  return panel;\n}\n";
}

// How the rows of x are divided.
enum class Rows : std::uint8_t { Few, Many, Tile, FewNibbles, FewPairs, Shared, Units, PlainUnits };
constexpr std::size_t kRowForms = 8;

std::string_view product_body(PanelText text, Rows rows, std::size_t jobs) {
  using Bodies = std::array<std::array<std::array<std::string, kMostJobs>, kRowForms>, 3>;
  static const Bodies bodies = [] {
    const std::string tile = joined({wgsl::tile_terms, wgsl::rows_tile});
    const std::string units = joined({wgsl::tile_terms, wgsl::units, wgsl::rows_units});
    const std::string plain = joined({wgsl::tile_terms, wgsl::plain_units, wgsl::rows_units});
    const std::string_view kRows[] = {wgsl::rows_once,  wgsl::rows_many,  tile,  wgsl::nibbles_once,
                                      wgsl::pairs_once, wgsl::blocks_few, units, plain};
    Bodies made;
    for (std::size_t n = 0; n < kMostJobs; ++n)
      for (std::size_t i = 0; i < kRowForms; ++i) {
        const std::string job = jobs_text(n + 1);
        made[0][i][n] = joined({job, wgsl::float_panels, wgsl::float_terms, wgsl::outputs, kRows[i]});
        made[1][i][n] = joined({job, wgsl::code_panels, wgsl::code_terms, wgsl::outputs, kRows[i]});
        made[2][i][n] = joined({job, wgsl::code_panels, wgsl::fp4_terms, wgsl::outputs, kRows[i]});
      }
    return made;
  }();
  return bodies[static_cast<std::size_t>(text)][static_cast<std::size_t>(rows)][jobs - 1];
}

// The largest tile of which there are enough to keep a card busy; null if there is none.
const CodeTile* code_tile(std::size_t rows, std::span<const MatmulJob> jobs) {
  constexpr std::size_t kMany = 128, kManyTall = 192;
  std::size_t across = 0;
  for (const MatmulJob& job : jobs) across += ceil_div(job.weight->panels(), kPanelsOfCodeTile);
  for (const CodeTile& tile : kCodeTiles)
    if (rows > tile.rows / 2 && across * ceil_div(rows, tile.rows) >= (tile.tall ? kManyTall : kMany)) return &tile;
  return nullptr;
}

// Whether tiles of rows_units.wgsl compute these products, and there are enough of them to keep a card busy.
bool takes_units(const GpuDevice& gpu, std::size_t rows, std::span<const MatmulJob> jobs) {
  constexpr std::size_t kMany = 64;
  const PanelLayout& layout = jobs[0].weight->layout();
  if (gpu.matrix_units() == GpuDevice::MatrixUnits::None || rows <= kRowsOfUnits / 2) return false;
  if (gpu.matrix_units() == GpuDevice::MatrixUnits::Real && gpu.adapter().limits.workgroup_bytes < kBytesOfUnits)
    return false;
  if (layout.sub_cols != kBlockCols || layout.input_blocks() != 1 || layout.has_row_scales() || layout.has_zeros ||
      traits(layout.kind).code_bits < 2)
    return false;
  std::size_t across = 0;
  for (const MatmulJob& job : jobs) across += ceil_div(job.weight->panels(), kPanelsOfUnits);
  return across * ceil_div(rows, kRowsOfUnits) >= kMany;
}

// Whether f32 holds each sum of products of a step exactly.
bool dots_are_small(const PanelLayout& layout, std::size_t blocks_of_step, bool digits) {
  const std::size_t code = (std::size_t{1} << traits(layout.kind).code_bits) + (layout.has_zeros ? 256 : 0);
  return blocks_of_step * kBlockCols * code * (digits ? 32512 : 127) <= (std::size_t{1} << 24);
}

// nibbles_once.wgsl
bool has_nibbles(const PanelLayout& layout) {
  return traits(layout.kind).code_bits == 4 && layout.kind != PanelKind::BlockTwiceFp4 &&
         layout.sub_cols == kBlockCols && !layout.has_row_scales();
}

// blocks_few.wgsl: workgroup memory has room for two terms of each block.
bool shares_rows(const PanelLayout& layout) {
  const std::size_t subs = layout.sub_cols < kBlockCols ? kBlockCols / layout.sub_cols : 1;
  return layout.sub_cols <= kBlockCols && !layout.has_row_scales() && subs * (layout.has_min ? 2 : 1) <= 2;
}

bool same_layout(const Matrix& a, const Matrix& b) {
  const PanelLayout &x = a.layout(), &y = b.layout();
  return a.cols() == b.cols() && x.kind == y.kind && x.sub_cols == y.sub_cols && x.factors == y.factors &&
         x.has_min == y.has_min && x.has_zeros == y.has_zeros && x.code_offset == y.code_offset &&
         x.scale_offset == y.scale_offset && x.own_input_scales == y.own_input_scales;
}

// Many rows, and weights whose panels are floats of 32 or 16 bits.
void multiply_floats(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs) {
  for (const MatmulJob& job : jobs) {
    const Matrix& m = *job.weight;
    const std::byte* at = nullptr;
    if (!exec.rehearsal()) {
      at = place_weight(exec, m, m.panel(0), m.panels() * m.panel_bytes());
      if (at == nullptr) return;
    }
    gemm_panels(exec, x, {at, m.panel_bytes() / 4, m.layout().kind}, job.bias, job.y);
  }
}

// Several jobs that are sooner done in one kernel than by tiles in one for each: the gates of a recurrent step.
bool is_small(ConstTensor x, std::span<const MatmulJob> jobs) {
  constexpr std::size_t kSmall = std::size_t{1} << 20;  // multiply-adds
  return jobs.size() > 1 && x.rows * x.cols * jobs[0].y.cols < kSmall;
}

// Jobs of one layout, whose floors are the same.
void multiply(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs, Inputs& inputs) {
  const Matrix& first = *jobs[0].weight;
  const PanelKind kind = first.layout().kind;
  if (has_float_panels(kind) && x.rows > kFewRows && !is_small(x, jobs)) return multiply_floats(exec, x, jobs);
  const PanelText text = panel_text(first);
  const bool shared = text == PanelText::Codes && x.rows > 1 && x.rows <= kSharedRows && x.cols >= kSharedColumns &&
                      shares_rows(first.layout());
  const bool few = x.rows <= kFewRows && !shared, has_bias = jobs[0].bias != nullptr;
  const bool has_tiles = !few && !shared && text == PanelText::Codes;
  const bool on_units = has_tiles && takes_units(*exec.gpu(), x.rows, jobs);
  const CodeTile* const tile = has_tiles && !on_units ? code_tile(x.rows, jobs) : nullptr;
  const bool has_fours = few && text == PanelText::Codes && has_nibbles(first.layout()) && x.cols > kFewColumns;
  const bool has_pairs = few && (kind == PanelKind::Float16 || kind == PanelKind::BFloat16);
  const bool takes_panels = has_fours || has_pairs;
  const bool is_plain = on_units && exec.gpu()->matrix_units() == GpuDevice::MatrixUnits::Plain;
  const Rows rows = shared            ? Rows::Shared
                    : has_fours       ? Rows::FewNibbles
                    : has_pairs       ? Rows::FewPairs
                    : few             ? Rows::Few
                    : is_plain        ? Rows::PlainUnits
                    : on_units        ? Rows::Units
                    : tile != nullptr ? Rows::Tile
                                      : Rows::Many;
  Kernel kernel("matmul", product_body(text, rows, jobs.size()),
                tile == nullptr ? 256 : static_cast<std::uint32_t>(tile->threads()));
  kernel.on_matrix_units(rows == Rows::Units);
  add_layout(first, kernel);
  std::size_t panels = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const Matrix& m = *jobs[j].weight;
    if (!add_matrix(exec, m, kernel, kMatrixNames[j])) return;
    kernel.writes(kOutputNames[j], jobs[j].y.data, jobs[j].y.cols);
    has_bias ? kernel.reads(kBiasNames[j], jobs[j].bias) : kernel.reads(kBiasNames[j], x.data, x.cols);
    const std::size_t together = on_units ? kPanelsOfUnits : tile != nullptr ? kPanelsOfCodeTile : 1;
    const std::size_t count = ceil_div(m.panels(), together);
    kernel.fixed(kPanelCounts[j], count).fixed(kOutputCounts[j], m.rows());
    panels += count;
  }
  if (text == PanelText::Codes) {
    const Inputs::Form& form = inputs.take(exec, x, input_form(exec, first.layout(), jobs[0].input_floor));
    kernel.reads("inputs", form.words, ceil_div(x.cols, kBlockCols) * kInputWords);
    kernel.reads("input_scales", form.scales, 1);
    kernel.fixed("digits", Inputs::digits(form.like)).fixed("splits_scale", form.like.splits_scale);
    const std::size_t share =
        form.like.scale_cols == 0 ? ceil_div(first.cols(), kBlockCols) : form.like.scale_cols / kBlockCols;
    kernel.fixed("input_share", share);
    if (tile != nullptr) kernel.fixed("tile_rows", tile->rows).fixed("tall", tile->tall);
    if (on_units) kernel.fixed("held", is_plain ? kHeldByPlainUnits : kHeldByUnits);
    if (tile != nullptr || on_units)
      kernel.fixed("small_dots", dots_are_small(first.layout(),
                                                first.layout().has_row_scales() ? share : first.layout().input_blocks(),
                                                Inputs::digits(form.like)));
  } else {
    kernel.reads("x", x.data, x.cols);
  }
  kernel.fixed("has_bias", has_bias).fixed("all_panels", panels).number("rows", x.rows);
  if (few) {
    const std::size_t groups = takes_panels ? panels : panels * kPanelRows / kFewOutputs;
    const bool is_long = has_fours ? x.cols > kManyColumns : x.cols >= kManyColumns;
    kernel.fixed("steps_of_lane", is_long ? 2 : 1);
    exec.gpu()->record(exec, kernel.groups_of_row(groups), groups * x.rows);
    return;
  }
  const std::size_t rows_of_group = shared            ? kRowsOfSharedGroup
                                    : on_units        ? kRowsOfUnits
                                    : tile != nullptr ? tile->rows
                                                      : kRowsOfGroup;
  exec.gpu()->record(exec, kernel, panels * ceil_div(x.rows, rows_of_group));
}

}  // namespace

void matmul(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs) {
  const ArenaScope scope(exec.arena);
  Inputs inputs;
  while (!jobs.empty()) {
    std::size_t n = 1;
    while (n < std::min(jobs.size(), kMostJobs) && same_layout(*jobs[0].weight, *jobs[n].weight) &&
           (jobs[0].bias == nullptr) == (jobs[n].bias == nullptr) && jobs[0].input_floor == jobs[n].input_floor)
      ++n;
    multiply(exec, x, jobs.first(n), inputs);
    jobs = jobs.subspan(n);
  }
}

}  // namespace loom::gpu
