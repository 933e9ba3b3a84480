#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/matmul/code_panels.wgsl.h"
#include "ops/matmul/code_terms.wgsl.h"
#include "ops/matmul/float_panels.wgsl.h"
#include "ops/matmul/float_terms.wgsl.h"
#include "ops/matmul/inputs.wgsl.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/matrix_gpu.h"
#include "ops/matmul/outputs.wgsl.h"
#include "ops/matmul/rows_many.wgsl.h"
#include "ops/matmul/rows_once.wgsl.h"

namespace loom::gpu {
namespace {

constexpr float kFp8E4M3Unit = 0x1p8f;   // chains of fp8e4m3 count 2^-8 (dtypes/panel_codecs.h)
constexpr std::size_t kInputWords = 20;  // of a block of inputs
constexpr std::size_t kFewRows = 8;      // whose outputs are shared by threads
constexpr std::size_t kRowsOfGroup = 16;

std::string_view product_body(bool codes, bool few) {
  static const std::string bodies[2][2] = {
      {joined({wgsl::float_panels, wgsl::float_terms, wgsl::outputs, wgsl::rows_many}),
       joined({wgsl::float_panels, wgsl::float_terms, wgsl::outputs, wgsl::rows_once})},
      {joined({wgsl::code_panels, wgsl::code_terms, wgsl::outputs, wgsl::rows_many}),
       joined({wgsl::code_panels, wgsl::code_terms, wgsl::outputs, wgsl::rows_once})}};
  return bodies[codes][few];
}

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
    const std::size_t blocks = ceil_div(x.cols, kBlockCols);
    form.like = like;
    form.words = exec.arena.take<std::uint32_t>(x.rows * blocks * kInputWords);
    form.scales = exec.arena.take<float>(x.rows);
    exec.gpu()->record_row(exec,
                           Kernel("quantise_inputs", wgsl::inputs, GpuDevice::kRowThreads)
                               .reads("x", x.data)
                               .writes("inputs", form.words)
                               .writes("input_scales", form.scales)
                               .number("least", like.floor)
                               .fixed("cols", x.cols)
                               .fixed("blocks", blocks)
                               .fixed("span", like.scale_cols)
                               .fixed("digits", digits(like))
                               .fixed("splits_scale", like.splits_scale),
                           x.rows);
    return form;
  }
};

}  // namespace

bool add_matrix(const Exec& exec, const Matrix& m, Kernel& kernel) {
  const PanelLayout& layout = m.layout();
  const PanelTraits& kind = traits(layout.kind);
  if (kind.inputs == PanelInputs::F64 || layout.kind == PanelKind::BlockFp4) {
    if (!exec.status)
      exec.status = Error{Code::Unsupported,
                          fmt::format("{} weights are not computed on graphics cards: --device cpu", name(m.dtype()))};
    return false;
  }
  const std::byte* weight = nullptr;
  const auto place = [&](std::string_view tensor, const void* from, std::size_t bytes) {
    if (exec.rehearsal()) return true;
    if (from == nullptr) return kernel.reads(tensor, weight), true;  // the text names it and never reads it
    auto at = exec.arena.device()->place(m.token(), {static_cast<const std::byte*>(from), bytes});
    if (!at) {
      if (!exec.status) exec.status = std::move(at).error();
      return false;
    }
    weight = weight == nullptr ? *at : weight;
    kernel.reads(tensor, *at);
    return true;
  };
  const std::size_t row_bytes = m.panels() * kPanelRows * 4;
  if (!place("weight", m.panel(0), m.panels() * m.panel_bytes()) || !place("row_scales", m.row_scales(), row_bytes) ||
      !place("row_zeros", m.row_zeros(), row_bytes))
    return false;
  kernel.fixed("panel_bytes", m.panel_bytes()).fixed("cols", m.cols());
  if (!kind.holds_codes()) {
    const float unit = layout.kind == PanelKind::Fp8E4M3 ? kFp8E4M3Unit : 1.0f;
    kernel.fixed("kind", static_cast<std::size_t>(layout.kind)).fixed("unit", std::bit_cast<std::uint32_t>(unit));
    return true;
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
  return true;
}

void matmul(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs) {
  const ArenaScope scope(exec.arena);
  Inputs inputs;
  for (const MatmulJob& job : jobs) {
    const Matrix& m = *job.weight;
    const bool codes = holds_codes(m), few = x.rows <= kFewRows;
    Kernel kernel("matmul", product_body(codes, few), 256);
    if (!add_matrix(exec, m, kernel)) return;
    if (codes) {
      const Inputs::Form& form = inputs.take(exec, x, input_form(exec, m.layout(), job.input_floor));
      kernel.reads("inputs", form.words).reads("input_scales", form.scales);
      kernel.fixed("digits", Inputs::digits(form.like)).fixed("splits_scale", form.like.splits_scale);
      kernel.fixed("input_share",
                   form.like.scale_cols == 0 ? ceil_div(m.cols(), kBlockCols) : form.like.scale_cols / kBlockCols);
    } else {
      kernel.reads("x", x.data);
    }
    kernel.writes("y", job.y.data).reads("bias", job.bias != nullptr ? job.bias : x.data);
    kernel.fixed("has_bias", job.bias != nullptr).fixed("panels", m.panels()).fixed("outputs", m.rows());
    kernel.number("rows", x.rows);
    exec.gpu()->record(exec, kernel, m.panels() * (few ? x.rows : ceil_div(x.rows, kRowsOfGroup)));
  }
}

}  // namespace loom::gpu
