// graph: the grid of a network as SVG.

#include <cstdio>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "core/file.h"
#include "host/draw.h"
#include "io/network_file.h"

namespace loom::cli {

Run graph_command(CLI::App& app) {
  struct Options {
    CommonOptions common;
    std::string network, output;
    bool overwrite = false;
  };
  auto o = std::make_shared<Options>();
  add_path(app, "NETWORK", o->network, "JSON spec, JSON checkpoint or .entity")->required();
  add_path(app, "-o,--output", o->output, "FILE.svg; without it, stdout");
  add_overwrite(app, o->overwrite);
  add_quiet(app, o->common);
  return [o]() -> int {
    if (auto free = check_output(o->output, OutputKind::svg, o->overwrite); !free) return report(free.error());
    auto loaded = load_network(o->network, {.initialise = false});
    if (!loaded) return report(loaded.error());
    loaded->network.release_masters();  // the picture shows packed bytes
    const auto svg = draw_network(loaded->network, loaded->plans);
    if (!svg) return report(Error{svg.error().code, o->network + ": " + svg.error().text()});
    if (o->output.empty()) {
      std::fwrite(svg->data(), 1, svg->size(), stdout);
      return kOk;
    }
    if (const auto written = write_file_atomically(o->output, std::as_bytes(std::span(*svg))); !written)
      return report(written.error());
    if (!o->common.quiet) std::printf("%s written\n", o->output.c_str());
    return kOk;
  };
}

}  // namespace loom::cli
