#pragma once
// Every command registers its options and returns what runs it. To add one: its file, one line in kCommands (main.cpp).

#include <functional>

#include "cli/common.h"

namespace loom::cli {

using Run = std::function<int()>;

Run chat_command(CLI::App& app);
Run generate_command(CLI::App& app);
Run logits_command(CLI::App& app);
Run tokenize_command(CLI::App& app);
Run detokenize_command(CLI::App& app);
Run perplexity_command(CLI::App& app);
Run bench_command(CLI::App& app);
Run inspect_command(CLI::App& app);
Run quantize_command(CLI::App& app);
Run convert_command(CLI::App& app);
Run export_command(CLI::App& app);
Run embed_command(CLI::App& app);
Run verify_command(CLI::App& app);
Run audit_command(CLI::App& app);
Run gpu_command(CLI::App& app);
Run run_command(CLI::App& app);
Run mesh_command(CLI::App& app);
Run ensemble_command(CLI::App& app);
Run adapt_command(CLI::App& app);
Run train_command(CLI::App& app);
Run replay_command(CLI::App& app);
Run finetune_command(CLI::App& app);
Run report_command(CLI::App& app);
Run morph_command(CLI::App& app);
Run diff_command(CLI::App& app);
Run graph_command(CLI::App& app);
Run schema_command(CLI::App& app);
Run dna_command(CLI::App& app);
Run evolve_command(CLI::App& app);
Run stream_command(CLI::App& app);
Run bridge_command(CLI::App& app);
Run page_command(CLI::App& app);
Run serve_command(CLI::App& app);
Run pull_command(CLI::App& app);
Run list_command(CLI::App& app);
Run rm_command(CLI::App& app);

}  // namespace loom::cli
