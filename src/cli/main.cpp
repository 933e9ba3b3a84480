#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "cli/signals.h"
#include "core/numerics_version.h"

namespace {

struct Command {
  const char* name;
  const char* what;
  loom::cli::Run (*make)(CLI::App&);
};

constexpr Command kCommands[] = {
    {"chat", "Talk with a model in the terminal", loom::cli::chat_command},
    {"generate", "Answer or continue one text", loom::cli::generate_command},
    {"logits", "The scores of the next token, with a hash of their bits", loom::cli::logits_command},
    {"tokenize", "Text to token ids", loom::cli::tokenize_command},
    {"detokenize", "Token ids to text", loom::cli::detokenize_command},
    {"perplexity", "How well a model predicts a text", loom::cli::perplexity_command},
    {"bench", "Tokens per second of prompt and generation", loom::cli::bench_command},
    {"inspect", "What is in a model file or folder", loom::cli::inspect_command},
    {"quantize", "Write a model as GGUF in another weight type", loom::cli::quantize_command},
    {"convert", "Write a language model as one .entity file", loom::cli::convert_command},
    {"run", "Run a network of any layers on one input", loom::cli::run_command},
    {"train", "Train a network as a config says, with a journal", loom::cli::train_command},
    {"replay", "Prove a training's journal by doing it again", loom::cli::replay_command},
    {"finetune", "A language model learns a text by low-rank adapters", loom::cli::finetune_command},
    {"report", "Write a training's page: curves, layers, hashes", loom::cli::report_command},
    {"morph", "Write a network in another weight type", loom::cli::morph_command},
    {"diff", "Compare two networks weight by weight", loom::cli::diff_command},
    {"graph", "Draw a network as SVG", loom::cli::graph_command},
    {"dna", "Compare two networks layer by layer, with a picture", loom::cli::dna_command},
    {"evolve", "Breed networks for a task", loom::cli::evolve_command},
    {"schema", "The JSON Schema of network specs", loom::cli::schema_command},
    {"verify", "Prove that this machine computes the reference bits", loom::cli::verify_command},
    {"audit", "CPU, caches, instruction sets, memory, tiles", loom::cli::audit_command},
};

// A closed standard stream would lend its number to the next file that is opened, and text meant for a person would land in it.
// Opened the wrong way round, a stream keeps the error visible: nothing can be read from 0 or written to 1 and 2.
void occupy_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(loom::cli::kFailed);
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  loom::cli::handle_signals();
  CLI::App app{"Loom runs neural networks with the same bits on every machine."};
  app.name("loom");
  app.set_version_flag("--version", fmt::format("loom {} (numerics version {})", LOOM_VERSION, loom::kNumericsVersion));
  app.require_subcommand(1);
  app.footer(
      "MODEL is a GGUF file, a Hugging Face folder or an .entity that loom convert wrote, NETWORK a JSON spec or an .entity. loom COMMAND --help "
      "says more about a command.");
  int status = 0;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.what);
    sub->callback([run = command.make(*sub), &status] { status = run(); });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    status = app.exit(e) == 0 ? 0 : loom::cli::kUsage;  // 0: --help or --version, whose text must arrive as well
  } catch (const std::exception& e) {  // a size beyond what a container can hold: memory that runs out ends the program by itself
    loom::cli::give_up(e.what(), loom::cli::kOutOfMemory);
  }
  status = loom::cli::status_after_signals(status);
  std::cout.flush();
  if (status == 0 && (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout))) {
    std::fprintf(stderr, "loom: cannot write to standard output\n");
    return loom::cli::kFailed;
  }
  return status;
}
