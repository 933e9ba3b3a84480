#include "cli/output_file.h"

#include <algorithm>

#include "core/file.h"
#include "io/network_file.h"

namespace loom::cli {
namespace {

struct Kind {
  OutputKind kind;
  const char* name;
  std::string_view begin;  // of every file that we write of this kind
};
constexpr Kind kKinds[] = {
    {OutputKind::entity, ".entity file", "ENTITY"}, {OutputKind::gguf, "GGUF file", "GGUF"},      {OutputKind::svg, "SVG picture", "<svg"},
    {OutputKind::html, "HTML page", "<!doctype html"}, {OutputKind::npy, "NPY file", "\x93NUMPY"}, {OutputKind::json_list, "JSON list", "["},
    {OutputKind::network, "network", ""},
};

}  // namespace

void add_overwrite(CLI::App& app, bool& overwrite) { app.add_flag("--overwrite", overwrite, "Replace a file of another kind too"); }

Result<void> check_output(const std::string& path, OutputKind kind, bool overwrite) {
  if (overwrite || !is_file(path)) return {};
  const Kind& wanted = *std::ranges::find(kKinds, kind, &Kind::kind);
  LOOM_TRY(const auto file, MappedFile::open(path));
  if (file->bytes().empty()) return {};
  const std::string_view there(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const bool same = kind == OutputKind::network ? is_network(file->bytes()) : there.starts_with(wanted.begin);
  if (!same) return fail(Code::InvalidArgument, "{}: exists and is no {}; not overwritten without --overwrite", path, wanted.name);
  return {};
}

}  // namespace loom::cli
