#pragma once
// Forms of sequence_attention.h on graphics cards: each records the kernels of the function of its name.

#include "ops/attention/sequence_attention.h"

namespace loom::gpu {

void sequence_attention(const Exec& exec, const AttentionConfig& config, std::size_t samples, const SequenceInputs& in,
                        Tensor out);
void sequence_attention_backward(const Exec& exec, const AttentionConfig& config, std::size_t samples,
                                 const SequenceInputs& in, ConstTensor d_out, const SequenceGradients& to);

}  // namespace loom::gpu
