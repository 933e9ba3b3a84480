// page: serves the page that runs models in a browser, and compares its answers with those of this program.

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/page_native.h"
#include "cli/serving.h"
#include "core/file.h"
#include "core/path.h"
#include "http/static_site.h"

namespace loom::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelPath = "/model/";

struct PageFlags {
  CommonOptions common;
  std::string model, web;
  HttpServerOptions server;
};

// The folder of the program that runs; empty where the system does not say.
fs::path program_folder() { return loom::path_of(program_path()).parent_path(); }

bool has_page(const fs::path& folder) { return is_file(text_of(folder / "index.html")); }

// The folder of the page: the one that was named, or share/loom/web of an installation, web beside the program, or web
// of the sources that the program was built from.
Result<fs::path> page_folder(const std::string& named) {
  if (!named.empty()) {
    if (fs::path path = loom::path_of(named); has_page(path)) return path;
    return fail(Code::NotFound, "{}: there is no index.html in this folder; --web names the folder of the page", named);
  }
  const fs::path program = program_folder();
  const fs::path places[] = {program / ".." / "share" / "loom" / "web", program / "web", program / ".." / ".." / "web"};
  for (const fs::path& place : places)
    if (has_page(place)) return place.lexically_normal();
  return fail(Code::NotFound,
              "the files of the page are neither in {} nor beside the program; --web names their folder",
              text_of(places[0].lexically_normal()));
}

// The first of these folders that has the file.
Result<std::string> folder_with(const std::vector<fs::path>& places, const std::string& file, std::string_view help) {
  for (const fs::path& place : places)
    if (is_file(text_of(place / file))) return text_of(place.lexically_normal());
  return fail(Code::NotFound, "{} is missing in {}; {}", file, text_of(places[0].lexically_normal()), help);
}

// An installed page holds all files; in the sources the package and the built module are in folders beside it.
Result<std::vector<SiteFolder>> site_folders(const std::string& named) {
  LOOM_TRY(const fs::path web, page_folder(named));
  LOOM_TRY(const std::string scripts, folder_with({web / "js", web / ".." / "js"}, "src/wasm/core.js",
                                                  "the folder js of the sources belongs beside web"));
  LOOM_TRY(const std::string module,
           folder_with({web / "wasm", web / ".." / "build" / "wasm" / "bin", web / ".." / "build" / "wasm"},
                       "loom-lm.wasm", "cmake --preset wasm and ninja -C build/wasm loom_wasm_modules build it"));
  return std::vector<SiteFolder>{{"/js/", scripts}, {"/wasm/", module}, {"/", text_of(web)}};
}

// Refuses options of a model without one.
Result<void> check_page_flags(const CLI::App& app, const PageFlags& o) {
  if (!o.model.empty()) return {};
  constexpr std::string_view kOwn[] = {"MODEL", "help", "port", "web", "json", "quiet"};
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0 && std::ranges::find(kOwn, option->get_single_name()) == std::end(kOwn))
      return fail(Code::InvalidArgument, "{} has no effect without MODEL", option->get_name());
  return {};
}

HttpResponse answer(const HttpRequest& request, const std::vector<SiteFolder>& folders, const PageFlags& flags,
                    NativeAnswers* native) {
  if (request.path == "/native.json") {
    const Json model = native == nullptr ? Json() : native->description();
    return {200, "application/json", dump_json({{"version", LOOM_VERSION}, {"model", model}}) + "\n"};
  }
  if (native != nullptr && request.path == "/native/answer")
    return request.method == "POST" ? native->answer(request.body) : http_error(405, "this path takes POST");
  if (native != nullptr && request.path.starts_with(kModelPath)) return file_response(flags.model, request);
  return site_response(folders, request);
}

Result<int> run_page(PageFlags& o) {
  watch_interrupts();
  LOOM_TRY(const auto folders, site_folders(o.web));
  std::unique_ptr<NativeAnswers> native;
  if (!o.model.empty()) {
    LOOM_TRY(native, NativeAnswers::open(o.model, o.common));
  }
  o.server.workers = 4;  // one may compute an answer while the others send files
  const auto handler = [&](const HttpRequest& r) { return with_site_headers(answer(r, folders, o, native.get())); };
  LOOM_TRY(const auto server, HttpServer::listen(o.server, handler));
  const std::string url = url_of(*server, o.server) + "/";
  const Json json{{"url", url}, {"web", folders.back().path}, {"model", native ? native->description() : Json()}};
  return serve_until_stopped(*server, o.common, url, json);
}

}  // namespace

Run page_command(CLI::App& app) {
  auto o = std::make_shared<PageFlags>();
  constexpr std::uint16_t kPort = 8080;
  o->server.port = kPort;
  app.footer(
      "loom page serves a page that runs models in this computer's browser, until Ctrl-C. With MODEL the page "
      "opens it, and shows for each answer whether this program gives the same hash");
  add_path(app, "MODEL", o->model, "GGUF file or .entity of a language model");
  app.add_option("--port", o->server.port, "Port; 0 takes one that is free and prints it")
      ->capture_default_str()
      ->check(port_number());
  add_path(app, "--web", o->web, "Folder of the page; found beside the program otherwise")->envname("LOOM_WEB");
  app.add_flag("--json", o->common.json, "Print the address and the model as one JSON object");
  add_common(app, o->common, true);
  return [o, &app] {
    if (auto checked = check_page_flags(app, *o); !checked) return report(checked.error());
    return finish(naming({o->model}, run_page(*o)));
  };
}

}  // namespace loom::cli
