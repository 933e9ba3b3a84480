// embed: texts to vectors.

#include <array>
#include <cstdio>
#include <sstream>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/receipt_option.h"
#include "cli/terminal_text.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "io/npy/npy.h"
#include "lm/encoder.h"

namespace loom::cli {
namespace {

struct EmbedFlags {
  CommonOptions common;
  std::string model, file, output, receipt, prompt_name;
  std::optional<std::string> prompt;
  std::vector<std::string> texts;
  bool overwrite = false;
};

Result<std::vector<std::string>> texts_of(const EmbedFlags& o) {
  if (!o.texts.empty()) return o.texts;
  LOOM_TRY(const std::string all, read_input("", o.file.empty() ? "-" : o.file));
  std::vector<std::string> lines;
  std::istringstream in(all);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  if (lines.empty()) return fail(Code::InvalidArgument, "no text: give TEXT, --file, or lines on standard input");
  return lines;
}

Result<void> write_vectors(const std::string& path, const std::vector<TextEmbedding>& vectors) {
  const std::size_t width = vectors[0].values.size();
  std::vector<std::byte> bytes(vectors.size() * width * sizeof(float));
  for (std::size_t i = 0; i < vectors.size() * width; ++i)
    store_le(bytes.data() + i * sizeof(float), vectors[i / width].values[i % width]);
  return write_npy(path, DType::float32, std::array{vectors.size(), width}, bytes);
}

Json to_json(const EmbedFlags& o, const TextEncoder& encoder, const std::vector<std::string>& texts,
             const std::vector<TextEmbedding>& vectors, const Json& receipt) {
  Json list = Json::array(), cosines = Json::array();
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    list.push_back({{"text", texts[i]},
                    {"tokens", vectors[i].tokens},
                    {"is_truncated", vectors[i].is_truncated},
                    {"embedding", vectors[i].values}});
    Json row = Json::array();
    for (const TextEmbedding& other : vectors) row.push_back(cosine_of(vectors[i].values, other.values));
    cosines.push_back(std::move(row));
  }
  return {{"model", o.model},
          {"dimensions", encoder.dimensions()},
          {"max_tokens", encoder.max_tokens()},
          {"prompt", encoder.prompt() ? Json(*encoder.prompt()) : Json()},
          {"texts", std::move(list)},
          {"cosines", std::move(cosines)},
          {"hash", to_hex(hash_of(vectors))},
          {"receipt", receipt}};
}

// One line per text: its cosines with all, and how it begins.
void print_table(const std::vector<std::string>& texts, const std::vector<TextEmbedding>& vectors) {
  constexpr std::size_t kMostColumns = 12, kMostOfText = 48;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    for (std::size_t k = 0; k < std::min(vectors.size(), kMostColumns); ++k)
      std::printf("%7.4f ", cosine_of(vectors[i].values, vectors[k].values));
    std::printf(" %s\n", terminal_text(texts[i].substr(0, kMostOfText)).c_str());
  }
}

Result<int> run_embed(const EmbedFlags& o) {
  if (!o.output.empty()) LOOM_TRY_VOID(check_output(o.output, OutputKind::npy, o.overwrite, {o.file}));
  LOOM_TRY_VOID(check_receipt(o.receipt, o.common));
  LOOM_TRY(const std::vector<std::string> texts, texts_of(o));
  EncoderOptions options;
  LOOM_TRY(options.session, session_options(o.common));
  if (!o.common.dtype.empty()) {
    LOOM_TRY(options.dtype, network_dtype_from_name(o.common.dtype));
  }
  options.prompt = o.prompt, options.prompt_name = o.prompt_name;
  watch_interrupts();
  LOOM_TRY(TextEncoder encoder, TextEncoder::load(o.model, options));
  LOOM_TRY(const std::vector<TextEmbedding> vectors, encoder.embed(texts, &interrupt_flag()));
  std::size_t cut = 0;
  for (const TextEmbedding& v : vectors) cut += v.is_truncated;
  if (cut != 0 && !o.common.quiet)
    warn(fmt::format("{} of {} texts have more than {} tokens and are cut off after them", cut, texts.size(),
                     encoder.max_tokens()));
  if (!o.output.empty()) LOOM_TRY_VOID(write_vectors(o.output, vectors));
  LOOM_TRY(const Json receipt,
           give_receipt(o.receipt, o.common, [&] { return receipt_of(o.model, encoder, options, texts, vectors); }));
  if (o.common.json)
    print_json(to_json(o, encoder, texts, vectors, receipt));
  else if (o.output.empty() || !o.common.quiet)
    print_table(texts, vectors);
  return kOk;
}

}  // namespace

Run embed_command(CLI::App& app) {
  auto o = std::make_shared<EmbedFlags>();
  add_path(app, "MODEL", o->model, "Folder of a BERT in the layout of sentence-transformers")->required();
  auto* const texts = app.add_option("TEXT", o->texts, "Texts; without any, the lines of --file or standard input");
  add_path(app, "-f,--file", o->file, "A text per line; - for standard input")->excludes(texts);
  add_path(app, "-o,--output", o->output, "FILE.npy for the vectors, a row per text");
  auto* const name =
      app.add_option("--prompt-name", o->prompt_name,
                     "A prompt of config_sentence_transformers.json that goes before every text (default: "
                     "the folder's default_prompt_name)")
          ->check(not_empty());
  app.add_option("--prompt", o->prompt, "A text that goes before every text; \"\" for none")->excludes(name);
  add_overwrite(app, o->overwrite);
  add_receipt(app, o->receipt);
  add_device(app, o->common);
  add_model_dtype(app, o->common);
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_common(app, o->common, false);
  return [o] { return finish(naming({o->model, o->file, o->output}, run_embed(*o))); };
}

}  // namespace loom::cli
