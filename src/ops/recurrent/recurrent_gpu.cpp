// The formulas of a step are those of recurrent_cpu.cpp, recorded; this file adds the index of element i of each
// operand.

#include <map>
#include <memory>
#include <vector>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "core/mutex.h"
#include "ops/recorded.h"
#include "ops/recurrent/recurrent_gpu.h"
#include "simd/record/trace.h"

namespace loom::gpu {
namespace {

using recorder::Trace;

// Index of a thread's element in a tensor: i counts [B, H] or, where all steps are taken at once, [B * T, H].
constexpr std::string_view kState = "i", kUnit = "i % units", kRow = "step_at(i)", kSteps = "y_at(i)",
                           kGates[kMaxGates] = {"gate_at(i, 0u)", "gate_at(i, 1u)", "gate_at(i, 2u)", "gate_at(i, 3u)"},
                           kOnly = "0u";
constexpr std::string_view kX[] = {"x_0", "x_1", "x_2", "x_3"}, kH[] = {"hw_0", "hw_1", "hw_2", "hw_3"},
                           kBias[] = {"bias_0", "bias_1", "bias_2", "bias_3"},
                           kGate[] = {"gate_0", "gate_1", "gate_2", "gate_3"},
                           kDsum[] = {"dsum_0", "dsum_1", "dsum_2", "dsum_3"},
                           kSlope[] = {"slope_0", "slope_1", "slope_2", "slope_3"},
                           kWidth[] = {"width_0", "width_1", "width_2", "width_3"},
                           kSum[] = {"sum_0", "sum_1", "sum_2", "sum_3"};

// Arguments that a kernel of the CPU and one of the device share: the operands of a trace, by the names of tensors.
class Step {
 public:
  Step(std::string name, std::size_t units) : name_(std::move(name)), units_(units) {}

  // The next operand of the trace; `number` of it is handed to bind().
  template <class F>
  void operand(std::string_view tensor, std::string_view place, const void* at, Access access, F bind) {
    operands_.push_back({tensor, place, at, access, operands_.size(), std::move(bind)});
  }
  // A further part of the operand before, at another place.
  void part(std::string_view place) { operands_.push_back({{}, place, nullptr, Access::Write, operands_.size(), {}}); }

  // `call` runs the kernel on operands that were bound; `absent` is done for a sample whose length is passed.
  template <class F>
  void record(const Exec& exec, const CellShape* shape, std::size_t t, std::size_t elements, std::size_t y_stride,
              std::string_view absent, const F& call) {
    const bool ragged = shape != nullptr && shape->lengths != nullptr;
    const auto& [name, body] = kept(name_ + (ragged ? " ragged" : ""), [&] { return text(ragged, absent, call); });
    Kernel kernel(name, body);
    std::string_view last;
    for (const Operand& o : operands_)
      if (!o.tensor.empty() && std::exchange(last, o.tensor) != o.tensor) kernel.operand(o.tensor, o.at, o.access);
    kernel.number("elements", elements)
        .number("steps", shape == nullptr ? 1 : shape->steps)
        .number("t", t)
        .number("y_stride", y_stride)
        .fixed("units", units_);
    if (ragged) {
      const std::vector<std::uint32_t> lengths(shape->lengths, shape->lengths + shape->batch);
      kernel.reads("lengths", exec.gpu()->upload(exec, std::span(lengths)));
    }
    exec.gpu()->record(exec, kernel, ceil_div(elements, Kernel::kThreads));
  }

 private:
  struct Operand {
    std::string_view tensor, place;
    const void* at;
    Access access;
    std::size_t number;
    std::function<void(Trace&, std::size_t)> bind;
  };

  template <class F>
  static const std::pair<std::string, std::string>& kept(const std::string& name, const F& make) {
    static Mutex& mutex = *new Mutex;
    static auto& known = *new std::map<std::string, std::unique_ptr<std::pair<std::string, std::string>>>;
    const Mutex::Guard lock(mutex);
    auto& entry = known[name];
    if (entry == nullptr) entry = std::make_unique<std::pair<std::string, std::string>>(name, make());
    return *entry;
  }

  template <class F>
  std::string text(bool ragged, std::string_view absent, const F& call) const {
    std::string body =
        "fn step_at(i: u32) -> u32 { return (i / units * steps() + t()) * units + i % units; }\n"
        "fn y_at(i: u32) -> u32 { return (i / units * steps() + t()) * y_stride() + i % units; }\n";
    body += fmt::format("fn gate_at(i: u32, k: u32) -> u32 {{ return (i / units * {}u + k) * units + i % units; }}\n",
                        gates_);
    std::string_view tensor;
    for (const Operand& o : operands_) {
      if (!o.tensor.empty()) tensor = o.tensor;
      const bool reads = o.access != Access::Write, writes = o.access != Access::Read;
      if (reads)
        body += fmt::format("fn load_{}(i: u32) -> f32 {{ return load_{}({}); }}\n", o.number, tensor, o.place);
      if (writes)
        body += fmt::format("fn store_{}(i: u32, value: f32) {{ store_{}({}, value); }}\n", o.number, tensor, o.place);
    }
    body += "fn run(group: u32, thread: u32) {\n  let i = 64u * group + thread;\n  if (i >= elements()) { return; }\n";
    if (ragged) body += fmt::format("  if (t() >= bits_lengths(i / units)) {{\n{}    return;\n  }}\n", absent);
    body += recorder::traced([&](Trace& t) {
      for (const Operand& o : operands_)
        if (o.bind) o.bind(t, o.number);
      call();
    });
    return body + "}\n";
  }

  std::string name_;
  std::size_t units_;
  std::vector<Operand> operands_;

 public:
  std::size_t gates_ = 1;
};

Tensor one_row(Trace& t, std::size_t k, std::size_t width = 1) {
  return {t.operand(k), 1, width * Trace::n(), Element::f32};
}
CellShape one_sample(CellKind cell) { return {cell, 1, 1, Trace::n(), nullptr}; }
std::string store_text(std::string_view tensor, std::string_view place, std::string_view value) {
  return fmt::format("    store_{}({}, {});\n", tensor, place, value);
}

}  // namespace

void cell_forward(const Exec& exec, const CellForward& task, std::size_t t) {
  const auto cell = task.shape.cell;
  const std::size_t gates = gates_of(cell), kept = cell == CellKind::Gru ? 4 : gates;
  const bool keeps = task.trace.h_before.data != nullptr, biased = task.bias[0] != nullptr,
             is_lstm = cell == CellKind::Lstm, is_gru = cell == CellKind::Gru;
  Step step(fmt::format("cell_forward {} {} {} {}", static_cast<int>(cell), keeps, biased, task.y != nullptr),
            task.shape.units);
  CellForward one;
  one.shape = one_sample(cell);
  std::string absent;
  const auto in = [&](std::string_view name, std::string_view place, const void* at, auto bind) {
    step.operand(name, place, at, Access::Read, bind);
  };
  const auto out = [&](std::string_view name, std::string_view place, void* at, auto bind) {
    step.operand(name, place, at, Access::Both, bind);
  };
  for (std::size_t k = 0; k < gates; ++k) {
    in(kX[k], kRow, task.x_products[k].data, [&one, k](Trace& r, std::size_t n) { one.x_products[k] = one_row(r, n); });
    in(kH[k], kState, task.h_products[k].data,
       [&one, k](Trace& r, std::size_t n) { one.h_products[k] = one_row(r, n); });
    if (biased) in(kBias[k], kUnit, task.bias[k], [&one, k](Trace& r, std::size_t n) { one.bias[k] = r.operand(n); });
  }
  if (is_gru && biased)
    in("bias_hh", kUnit, task.bias_hh, [&one](Trace& r, std::size_t n) { one.bias_hh = r.operand(n); });
  out("h", kState, task.h.data, [&one](Trace& r, std::size_t n) { one.h = one_row(r, n); });
  if (is_lstm) out("c", kState, task.c.data, [&one](Trace& r, std::size_t n) { one.c = one_row(r, n); });
  if (keeps) {
    for (std::size_t k = 0; k < kept; ++k)
      out(kGate[k], kRow, task.trace.gates[k].data,
          [&one, k](Trace& r, std::size_t n) { one.trace.gates[k] = one_row(r, n); });
    out("h_before", kRow, task.trace.h_before.data,
        [&one](Trace& r, std::size_t n) { one.trace.h_before = one_row(r, n); });
    absent += store_text("h_before", kRow, "load_h(i)");
    if (is_lstm) {
      out("c_before", kRow, task.trace.c_before.data,
          [&one](Trace& r, std::size_t n) { one.trace.c_before = one_row(r, n); });
      out("tanh_c", kRow, task.trace.tanh_c.data,
          [&one](Trace& r, std::size_t n) { one.trace.tanh_c = one_row(r, n); });
      absent += store_text("c_before", kRow, "load_c(i)");
    }
  }
  if (task.y != nullptr) {
    out("y", kSteps, task.y, [&one](Trace& r, std::size_t n) { one.y = r.operand(n); });
    absent += store_text("y", kSteps, "0.0");
  }
  step.record(exec, &task.shape, t, task.shape.batch * task.shape.units, task.y_stride, absent,
              [&] { record::cell_kernels.f32.forward[static_cast<std::size_t>(cell)](one, 0, 0, 1); });
}

namespace {

// The operands of cell_backward() and cell_gap(): gradients in and out, and where they go.
struct Gradients {
  CellBackward one;
  std::string absent;

  void add(Step& step, const CellBackward& task) {
    const CellKind cell = task.shape.cell;
    const std::size_t gates = gates_of(cell), sums = cell == CellKind::Gru ? 4 : gates;
    one.shape = one_sample(cell);
    step.gates_ = gates;
    if (task.dy != nullptr)
      step.operand("dy", kSteps, task.dy, Access::Read, [this](Trace& r, std::size_t n) { one.dy = r.operand(n); });
    step.operand("dh", kState, task.dh.data, Access::Both, [this](Trace& r, std::size_t n) { one.dh = one_row(r, n); });
    for (std::size_t k = 0; k < sums; ++k) {
      step.operand(kDsum[k], kRow, task.dsums[k].data, Access::Both,
                   [this, k](Trace& r, std::size_t n) { one.dsums[k] = one_row(r, n); });
      absent += store_text(kDsum[k], kRow, "0.0");
    }
    step.operand("dstep", kGates[0], task.dstep.data, Access::Both,
                 [this, gates](Trace& r, std::size_t n) { one.dstep = one_row(r, n, gates); });
    for (std::size_t k = 1; k < gates; ++k) step.part(kGates[k]);
    for (std::size_t k = 0; k < gates; ++k) absent += store_text("dstep", kGates[k], "0.0");
  }
};

// Adds the tensors that forward kept, as far as the step reads them.
void add_trace(Step& step, const CellTrace& from, CellKind cell, std::string_view place, CellTrace& to) {
  const std::size_t sums = cell == CellKind::Gru ? 4 : gates_of(cell);
  const auto in = [&](std::string_view name, const Tensor& t, Tensor& bound) {
    if (t.data != nullptr)
      step.operand(name, place, t.data, Access::Read, [&bound](Trace& r, std::size_t n) { bound = one_row(r, n); });
  };
  for (std::size_t k = 0; k < sums; ++k) in(kGate[k], from.gates[k], to.gates[k]);
  in("h_before", from.h_before, to.h_before);
  in("c_before", from.c_before, to.c_before);
  in("tanh_c", from.tanh_c, to.tanh_c);
}

}  // namespace

void cell_backward(const Exec& exec, const CellBackward& task, std::size_t t) {
  const CellKind cell = task.shape.cell;
  Step step(fmt::format("cell_backward {} {}", static_cast<int>(cell), task.dy != nullptr), task.shape.units);
  Gradients gradients;
  CellBackward& one = gradients.one;
  gradients.add(step, task);
  if (cell == CellKind::Lstm)
    step.operand("dc", kState, task.dc.data, Access::Both, [&one](Trace& r, std::size_t n) { one.dc = one_row(r, n); });
  add_trace(step, task.trace, cell, kRow, one.trace);
  step.record(exec, &task.shape, t, task.shape.batch * task.shape.units, task.dy_stride, gradients.absent,
              [&] { record::cell_kernels.f32.backward[static_cast<std::size_t>(cell)](one, 0, 0, 1); });
}

void gate_slopes(const Exec& exec, const GateSlopes& task) {
  Step step(fmt::format("gate_slopes {} {}", static_cast<int>(task.cell), task.secant), task.units);
  GateSlopes one;
  one.cell = task.cell, one.rows = 1, one.units = Trace::n(), one.secant = task.secant;
  for (std::size_t k = 0; k < gates_of(task.cell); ++k) {
    if (task.secant) {
      step.operand(kSum[k], kState, task.sums[k].data, Access::Read,
                   [&one, k](Trace& r, std::size_t n) { one.sums[k] = one_row(r, n); });
      step.operand(kWidth[k], kOnly, task.width[k].data, Access::Read,
                   [&one, k](Trace& r, std::size_t n) { one.width[k] = one_row(r, n); });
    }
    step.operand(kSlope[k], kState, task.slopes[k].data, Access::Both,
                 [&one, k](Trace& r, std::size_t n) { one.slopes[k] = one_row(r, n); });
  }
  add_trace(step, task.trace, task.cell, kState, one.trace);
  step.record(exec, nullptr, 0, task.rows * task.units, 0, {},
              [&] { record::cell_kernels.f32.slopes[static_cast<std::size_t>(task.cell)](one, 0, 1); });
}

void cell_gap(const Exec& exec, const CellBackward& task, const GateSlopes& slopes, double carry, std::size_t t) {
  const CellKind cell = task.shape.cell;
  Step step(fmt::format("cell_gap {} {} {} {:a}", static_cast<int>(cell), task.dy != nullptr, slopes.secant, carry),
            task.shape.units);
  Gradients gradients;
  gradients.add(step, task);
  GateSlopes one;
  one.cell = cell, one.secant = slopes.secant;
  for (std::size_t k = 0; k < gates_of(cell); ++k)
    step.operand(kSlope[k], kRow, slopes.slopes[k].data, Access::Read,
                 [&one, k](Trace& r, std::size_t n) { one.slopes[k] = one_row(r, n); });
  step.operand(kGate[0], kRow, task.trace.gates[0].data, Access::Read,
               [&gradients](Trace& r, std::size_t n) { gradients.one.trace.gates[0] = one_row(r, n); });
  step.record(exec, &task.shape, t, task.shape.batch * task.shape.units, task.dy_stride, gradients.absent, [&] {
    record::cell_kernels.f32.gap[static_cast<std::size_t>(cell)](gradients.one, one, carry, 0, 0, 1);
  });
}

}  // namespace loom::gpu
