#include <algorithm>
#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/file_hint.h"
#include "cli/signals.h"
#include "core/nearest.h"
#include "core/numerics_version.h"

namespace {

struct Command {
  const char* name;
  const char* what;
  loom::cli::Run (*make)(CLI::App&);
};

constexpr Command kCommands[] = {
    {"chat", "Talk with a model in the terminal", loom::cli::chat_command},
    {"generate", "Answer a question, or continue a text", loom::cli::generate_command},
    {"logits", "Show the scores of the next token, with a hash of their bits", loom::cli::logits_command},
    {"tokenize", "Turn text into token ids", loom::cli::tokenize_command},
    {"detokenize", "Turn token ids into text", loom::cli::detokenize_command},
    {"perplexity", "Measure how well a model predicts a text", loom::cli::perplexity_command},
    {"bench", "Measure tokens per second of prompt and generation", loom::cli::bench_command},
    {"inspect", "Show what a model file or folder holds", loom::cli::inspect_command},
    {"quantize", "Write a model as GGUF in another weight type", loom::cli::quantize_command},
    {"convert", "Write a model or a network as one .entity file", loom::cli::convert_command},
    {"export", "Write a network or a model in the files of others", loom::cli::export_command},
    {"embed", "Turn texts into vectors and compare them", loom::cli::embed_command},
    {"run", "Run a network or an ONNX graph on one input", loom::cli::run_command},
    {"mesh", "Run a network in ticks, learning between them", loom::cli::mesh_command},
    {"ensemble", "Run several networks on the same inputs: mean, vote, matches", loom::cli::ensemble_command},
    {"adapt", "Measure how fast a network recovers after its task changes", loom::cli::adapt_command},
    {"train", "Train a network as a config says, with a journal", loom::cli::train_command},
    {"replay", "Compute a receipt or a training again and compare", loom::cli::replay_command},
    {"finetune", "Train low-rank adapters of a language model on a text", loom::cli::finetune_command},
    {"report", "Write the page of a training: curves, layers, hashes", loom::cli::report_command},
    {"morph", "Write a network in another weight type", loom::cli::morph_command},
    {"diff", "Compare two networks weight by weight", loom::cli::diff_command},
    {"graph", "Draw a network as SVG", loom::cli::graph_command},
    {"dna", "Compare two networks layer by layer, with a picture", loom::cli::dna_command},
    {"evolve", "Breed networks for a task", loom::cli::evolve_command},
    {"stream", "Turn live weights of another framework into a network", loom::cli::stream_command},
    {"bridge", "Serve streams and comparisons of other frameworks over HTTP", loom::cli::bridge_command},
    {"serve", "Answer requests of OpenAI's and Ollama's HTTP interfaces", loom::cli::serve_command},
    {"page", "Serve a page that runs models in a browser", loom::cli::page_command},
    {"pull", "Fetch a model from the Hugging Face hub", loom::cli::pull_command},
    {"list", "List the models that were fetched", loom::cli::list_command},
    {"rm", "Remove a model that was fetched", loom::cli::rm_command},
    {"schema", "Print the JSON Schema of specs, trainings or evolutions", loom::cli::schema_command},
    {"verify", "Prove that this machine computes the reference bits", loom::cli::verify_command},
    {"audit", "Show CPU, caches, instruction sets, memory and tiles", loom::cli::audit_command},
    {"gpu", "List the graphics cards that Loom can compute on", loom::cli::gpu_command},
};

std::vector<std::string_view> command_names() {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  return names;
}

// "loom", "loom bench matrix"
std::string command_path(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  return parent == nullptr ? app.get_name() : command_path(*parent) + " " + app.get_name();
}

int usage_error(const CLI::App& command, const std::string& what) {
  return loom::cli::report(
      {loom::Code::InvalidArgument, fmt::format("{}; {} --help says more", what, command_path(command))});
}

bool takes_prompt(const CLI::App& command) { return command.get_option_no_throw("--prompt") != nullptr; }

// Reports an unexpected argument, with the nearest names of a mistyped option.
int unexpected_argument(const CLI::App& command, const std::string& argument) {
  if (!argument.starts_with('-') || argument == "-")
    return usage_error(command, fmt::format("\"{}\" was not expected{}", argument,
                                            takes_prompt(command) ? "; give the text with -p" : ""));
  std::vector<std::string> long_names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) long_names.push_back("--" + name);
  const std::vector<std::string_view> known(long_names.begin(), long_names.end());
  const std::string name = argument.substr(0, argument.find('='));
  return usage_error(command,
                     fmt::format("there is no option {}; nearest: {}", name, loom::nearest_names(name, known)));
}

// Reports what a command lacks; a missing command of a group names those that there are.
int missing_argument(const CLI::App& command, const std::string& what) {
  std::string known;
  if (command.get_require_subcommand_min() == 0) return usage_error(command, what);
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    known += (known.empty() ? "" : ", ") + command_path(*sub);
  return usage_error(command, "a command is missing: " + known);
}

// Reports a word that is no command: what a file of this name holds, or the nearest commands.
int unknown_command(const CLI::App& app, const std::string& word, std::span<const std::string_view> names) {
  const std::string hint = loom::cli::file_hint(word);
  if (!hint.empty()) return loom::cli::report({loom::Code::InvalidArgument, hint});
  return usage_error(app, fmt::format("there is no command {}; nearest: {}", word, loom::nearest_names(word, names)));
}

// The command that the arguments named, or the program itself.
const CLI::App& chosen(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app : chosen(*named[0]);
}

// The status, unless what was printed did not arrive.
int written(int status) {
  std::cout.flush();
  if (status != 0 || (std::cout && std::fflush(stdout) == 0 && !std::ferror(stdout))) return status;
  std::fprintf(stderr, "loom: cannot write to standard output\n");
  return loom::cli::kFailed;
}

// Returns the arguments as if the program was called by the name loom.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments = loom::cli::program_arguments(argc, argv);
  const std::string_view called = argc > 0 ? argv[0] : "";
  if (called.substr(called.find_last_of("/\\") + 1).starts_with("loom-stream"))
    arguments.insert(arguments.begin(), "stream");
  if (!arguments.empty() && arguments[0] == "help") {  // loom help chat
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  return arguments;
}

// Returns the program's exit code. Exceptions of CLI11 are caught.
int run(int argc, char** argv) {
  CLI::App app{"Loom runs neural networks with the same bits on every machine."};
  app.name("loom");
  app.allow_windows_style_options(false);  // a word that begins with / is a path
  app.set_version_flag("--version", fmt::format("loom {} (numerics version {})", LOOM_VERSION, loom::kNumericsVersion));
  app.require_subcommand(0, 1);
  bool list_commands = false;
  app.add_flag("--commands", list_commands, "Print the names of the commands, one per line");
  app.footer(
      "MODEL is a GGUF file, a Hugging Face folder or an .entity that loom convert\n"
      "wrote, NETWORK a JSON spec or an .entity. loom COMMAND --help says more.");
  int status = 0;
  std::vector<std::string> arguments = arguments_of(argc, argv);
  // Only the command that was called adds its options: a command's file costs nothing to the others.
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.what);
    if (arguments.empty() || arguments[0] != command.name) continue;
    sub->callback([run = command.make(*sub), &status] { status = run(); });
  }
  // The commands have kept the formatter of before: only the list of them is narrow.
  app.formatter(std::make_shared<CLI::Formatter>());
  app.get_formatter()->column_width(14);
  const auto names = command_names();
  if (arguments.empty()) {
    std::fputs(app.help().c_str(), stderr);
    return loom::cli::kUsage;
  }
  if (!arguments[0].starts_with('-') && std::ranges::find(names, arguments[0]) == names.end())
    return unknown_command(app, arguments[0], names);
  try {
    std::ranges::reverse(arguments);  // as CLI11 takes them
    app.parse(arguments);
    if (list_commands) {
      for (const std::string_view name : names) std::printf("%s\n", std::string(name).c_str());
    } else if (app.get_subcommands().empty()) {
      return usage_error(app, "a command is missing");
    }
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extra = app.remaining(true);
    return unexpected_argument(chosen(app), extra.empty() ? std::string() : extra[0]);
  } catch (const CLI::Success& e) {
    return written(app.exit(e));
  } catch (const CLI::RequiredError& e) {
    return missing_argument(chosen(app), e.what());
  } catch (const CLI::ParseError& e) {
    return usage_error(chosen(app), e.what());
  }
  return written(loom::cli::status_after_signals(status));
}

}  // namespace

int main(int argc, char** argv) {
  loom::cli::prepare_streams();
  loom::cli::handle_signals();
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    // a size beyond what a container can hold: memory that runs out ends the program by itself
    loom::cli::give_up(e.what(), loom::cli::kOutOfMemory);
  }
}
