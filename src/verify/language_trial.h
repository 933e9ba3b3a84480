#pragma once
// Trials of language models: small decoders of random shape, type and family, read in chunks, beside other sequences
// and through snapshots; and their fine-tuning by adapters, stopped and resumed. The network of such a trial is
// the model's config.json; its weights follow from the seed of its data.

#include "lm/decoder.h"
#include "verify/draw.h"
#include "verify/trial.h"

namespace loom {

// Errors: what the reader of configs or the loader refuses.
Result<DecoderModel> trial_decoder(const Trial& trial);

void draft_decoder(Draw& draw, Trial& trial);
void draft_finetune(Draw& draw, Trial& trial);

// `options`: the trial's, with the variant's patch.
Result<void> run_decoder(const Trial& trial, const Json& options, const TrialWay& way, TrialRecord& record);
Result<void> run_finetune(const Trial& trial, const Json& options, const TrialWay& way, TrialRecord& record);

}  // namespace loom
