#pragma once
// The elementwise half of one step of a recurrent cell, for all samples at once (engine L-60..L-63): products with
// weights are made by matmul and gemm. Tensors of [B * T, H] hold sample b's step t in row b * T + t; those of [B, H]
// hold the step at hand.
//
//   rnn   h = act((xw + hw) + b)
//   lstm  i f g o = sg, sg, tanh, sg of (xw + hw) + b;  c = f * c + i * g;  h = o * tanh(c)
//   gru   r z = sg((xw + hw) + b);  m = hw_n + bias_hh;  n = tanh((xw_n + b_n) + r * m);  h = (1 - z) * n + z * h
//
// A sample whose length is at most t is not touched: its state stays, its output is 0. Nothing is summed across lanes.

#include "backend/exec.h"

namespace loom {

enum class CellKind : std::uint8_t { RnnTanh, RnnRelu, Lstm, Gru };
inline constexpr std::size_t kNumCells = 4, kMaxGates = 4;
constexpr std::size_t gates_of(CellKind cell) { return cell == CellKind::Lstm ? 4 : cell == CellKind::Gru ? 3 : 1; }

struct CellShape {
  CellKind cell = CellKind::RnnTanh;
  std::size_t batch = 0, steps = 0, units = 0;
  const std::size_t* lengths = nullptr;  // [B], or null: all steps are valid
  bool valid(std::size_t b, std::size_t t) const { return lengths == nullptr || t < lengths[b]; }
};

// Values that forward keeps for backward, [B * T, H] each; no data: not kept, or not of this cell.
struct CellTrace {
  Tensor gates[kMaxGates];    // values after the activation; gru's fourth is m
  Tensor h_before, c_before;  // state before the step
  Tensor tanh_c;
};

struct CellForward {
  CellShape shape;
  Tensor x_products[kMaxGates];  // [B * T, H] per gate
  Tensor h_products[kMaxGates];  // [B, H]
  const void* bias[kMaxGates] = {};
  const void* bias_hh = nullptr;  // gru
  Tensor h, c;                    // [B, H], advanced in place
  CellTrace trace;                // its gates may be x_products
  void* y = nullptr;              // h of every step goes to y + (b * T + t) * y_stride; null: nowhere
  std::size_t y_stride = 0;
};

struct CellBackward {
  CellShape shape;
  CellTrace trace;
  const void* dy = nullptr;  // addressed as y; null: no gradient at the steps
  std::size_t dy_stride = 0;
  // [B, H]: gradient of the state after the step; left with what reaches the state before it without
  Tensor dh, dc;
  // passing W_hh
  Tensor dsums[kMaxGates];  // [B * T, H]: gradient at each gate's sum; gru's fourth is that of m
  Tensor dstep;             // [B, G * H]: this step's gradients of hw, gates side by side
};

void cell_forward(const Exec& exec, const CellForward& task, std::size_t t);
void cell_backward(const Exec& exec, const CellBackward& task, std::size_t t);

// Target propagation (engine L-64, L-65): how far h moves with the sum of each gate, the others fixed, at every step at
// once.
struct GateSlopes {
  CellKind cell = CellKind::RnnTanh;
  std::size_t rows = 0, units = 0;
  Tensor sums[kMaxGates];  // [B * T, H]: what the gates' activations saw
  CellTrace trace;
  bool secant = true;       // else the sign of the slope
  Tensor width[kMaxGates];  // [1]: half the width of each gate's secant
  Tensor slopes[kMaxGates];
};
void gate_slopes(const Exec& exec, const GateSlopes& task);
// One step: the gap of h, dh + dy, times the slopes goes to dsums (gru's fourth: times r, or not with signs) and, times
// `carry`, to dstep; dh is left at 0, or as it is past a sample's length. With signs the target of an rnn is kept in
// the range of its activation.
void cell_gap(const Exec& exec, const CellBackward& task, const GateSlopes& slopes, double carry, std::size_t t);

template <class T>
struct CellKernels {  // samples [begin, end)
  void (*forward[kNumCells])(const CellForward& task, std::size_t t, std::size_t begin, std::size_t end);
  void (*backward[kNumCells])(const CellBackward& task, std::size_t t, std::size_t begin, std::size_t end);
  void (*slopes[kNumCells])(const GateSlopes& task, std::size_t begin, std::size_t end);  // rows
  void (*gap[kNumCells])(const CellBackward& task, const GateSlopes& slopes, double carry, std::size_t t,
                         std::size_t begin, std::size_t end);
};

}  // namespace loom
