#pragma once
// loom morph --auto: flags, the search, its report.

#include "cli/common.h"
#include "network/auto_morph.h"

namespace loom::cli {

struct AutoMorphFlags {
  bool automatic = false;
  std::string data, types;
  std::size_t max_bytes = 0;
  double max_loss = 0;
  CLI::Option *bytes_option = nullptr, *loss_option = nullptr;

  bool given() const {
    return !data.empty() || !types.empty() || bytes_option->count() > 0 || loss_option->count() > 0;
  }
};

void add_auto_morph(CLI::App& app, AutoMorphFlags& flags);
// Morphs the network. InvalidArgument for flags that do not go together; errors of read_examples() and auto_morph().
Result<AutoMorphReport> choose_types(Network& network, const AutoMorphFlags& flags, const CommonOptions& common);
void print_report(const AutoMorphReport& report, const std::string& output, const Digest& root,
                  const CommonOptions& common);

}  // namespace loom::cli
