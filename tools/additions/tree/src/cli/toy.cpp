// loom toy: adds two numbers, to show how little a command needs.

#include <cstdio>

#include "cli/commands.h"

namespace loom::cli {
namespace {

struct ToyOptions {
  CommonOptions common;
  int a = 0, b = 0;
};

}  // namespace

Run toy_command(CLI::App& app) {
  auto o = std::make_shared<ToyOptions>();
  app.add_option("A", o->a, "A number")->required();
  app.add_option("B", o->b, "Another")->required();
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_common(app, o->common, false);
  return [o] {
    if (o->common.json)
      print_json(Json{{"sum", o->a + o->b}});
    else
      std::printf("%d\n", o->a + o->b);
    return static_cast<int>(kOk);
  };
}

}  // namespace loom::cli
