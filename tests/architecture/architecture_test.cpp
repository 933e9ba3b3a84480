// Rules of the tree that no compiler checks: arrows point one way, and no result passes through a system's libm or an
// order that a hash table chose.

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "../support/files.h"

namespace loom {
namespace {

// A folder sees itself and what stands before it, but for kBlind; text stands on core alone, grammar on these two, and
// both are seen by lm, finetune, host, server, capi and cli.
const std::vector<std::string> kOrder = {
    "core", "report", "simd",     "dtypes",   "backend",   "ops",       "graph", "layers",      "network",
    "io",   "data",   "learning", "training", "telemetry", "evolution", "lm",    "finetune",    "verify",
    "host", "http",   "bridge",   "server",   "capi",      "pull",      "cli",   "legacy/names"};
const std::map<std::string, std::set<std::string>> kBlind = {
    {"lm", {"learning", "training", "telemetry", "evolution"}},
    {"telemetry", {"data", "learning", "training"}},
    {"evolution", {"data", "learning", "training", "telemetry"}},
    {"host", {"verify"}},
    {"http",
     {"simd", "dtypes", "backend", "ops", "graph", "layers", "network", "io", "data", "learning", "training",
      "telemetry", "evolution", "lm", "finetune", "verify", "host"}},
    {"bridge", {"data", "learning", "training", "telemetry", "evolution", "lm", "finetune", "verify", "host"}},
    {"pull",
     {"data", "learning", "training", "telemetry", "evolution", "finetune", "verify", "host", "http", "bridge",
      "server", "capi"}},
    {"server", {"bridge", "learning", "training", "telemetry", "evolution", "finetune", "verify"}}};

bool may_include(const std::string& from, const std::string& to) {
  if (from == to) return true;
  if (from == "text") return to == "core";
  if (from == "grammar") return to == "core" || to == "text";
  if (from == "legacy/names") return false;  // libwelvet.so stands on loom.h alone
  if (to == "text" || to == "grammar")
    return from == "lm" || from == "finetune" || from == "host" || from == "server" || from == "capi" || from == "cli";
  if (const auto blind = kBlind.find(from); blind != kBlind.end() && blind->second.contains(to)) return false;
  const auto a = std::find(kOrder.begin(), kOrder.end(), from), b = std::find(kOrder.begin(), kOrder.end(), to);
  return a != kOrder.end() && b != kOrder.end() && b < a;
}

// The module of a path below src/. Files of Loom 0.8x belong to io, its names are a module of their own.
std::string module_of(const std::string& path) {
  if (path.starts_with("legacy/files/")) return "io";
  if (path.starts_with("legacy/names/")) return "legacy/names";
  return path.substr(0, path.find('/'));
}

struct Source {
  std::string name;  // below src/
  std::string module;
  std::string text;
};

std::vector<Source> sources() {
  const std::filesystem::path root = test::source_path("src");
  std::vector<Source> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension().string();
    if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp" && extension != ".inc")) continue;
    const std::filesystem::path name = entry.path().lexically_relative(root);
    out.push_back({name.string(), module_of(name.generic_string()), test::read_all(entry.path().string())});
  }
  std::sort(out.begin(), out.end(), [](const Source& a, const Source& b) { return a.name < b.name; });
  return out;
}

bool is_test(const Source& s) {
  return std::regex_search(s.name, std::regex("(_(test|fuzz)\\.(cpp|h)|/test_data\\.h)$"));
}

// Comments and string literals become blanks; lines stay where they were.
std::string code_of(const std::string& text) {
  std::string out = text;
  enum { Code, Line, Block, Text, Char } state = Code;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
    const bool digit_separator = c == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1]));
    if (state == Code && c == '/' && next == '/')
      state = Line;
    else if (state == Code && c == '/' && next == '*')
      state = Block;
    else if (state == Code && c == '"')
      state = Text;
    else if (state == Code && c == '\'' && !digit_separator)
      state = Char;
    else if (state == Line && c == '\n')
      state = Code;
    else if (state == Block && c == '*' && next == '/')
      state = Code, out[i] = out[i + 1] = ' ', ++i;
    else if ((state == Text && c == '"') || (state == Char && c == '\''))
      state = Code;
    else if ((state == Text || state == Char) && c == '\\')
      out[i] = ' ', ++i;
    if (state != Code && text[i] != '\n') out[i] = ' ';
  }
  return out;
}

std::size_t line_of(const std::string& text, std::size_t at) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

std::vector<std::string> found(const Source& s, const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
    out.push_back(fmt::format("{}:{}: {}", s.name, line_of(text, static_cast<std::size_t>(it->position())), it->str()));
  return out;
}

TEST(Architecture, rule_of_the_arrows) {
  EXPECT_TRUE(may_include("ops", "core"));
  EXPECT_FALSE(may_include("core", "ops"));
  EXPECT_FALSE(may_include("text", "simd"));
  EXPECT_FALSE(may_include("io", "text"));
  EXPECT_TRUE(may_include("grammar", "text"));
  EXPECT_FALSE(may_include("grammar", "io"));
  EXPECT_FALSE(may_include("text", "grammar"));
  EXPECT_TRUE(may_include("lm", "text"));
  EXPECT_TRUE(may_include("learning", "io"));
  EXPECT_FALSE(may_include("io", "learning"));
  EXPECT_FALSE(may_include("lm", "learning"));
  EXPECT_TRUE(may_include("cli", "host"));
  EXPECT_FALSE(may_include("host", "cli"));
}

TEST(Architecture, includes_point_one_way) {
  const std::regex include("#\\s*include\\s*\"([^\"]+)\"");
  std::size_t checked = 0;
  std::set<std::string> modules;
  for (const Source& s : sources()) {
    modules.insert(s.module);
    for (std::sregex_iterator it(s.text.begin(), s.text.end(), include), end; it != end; ++it) {
      const std::string path = (*it)[1];
      const std::size_t slash = path.find('/');
      // The folder of a SIMD target is on the include path of its kernels: int_dot.h and tile_unit.h stand there.
      if (slash == path.npos) {
        const bool target_header = path == "int_dot.h" || path == "tile_unit.h" || path == "loom_targets.h";
        EXPECT_TRUE(target_header ? may_include(s.module, "simd") : s.module == "simd")
            << s.name << " includes \"" << path << "\" without its folder";
        continue;
      }
      if (is_test(s) && path.starts_with("support/")) continue;  // of tests/
      // TESTED_WITH in CMakeLists.txt: kinds are tested in networks, and networks, models and trainings by golden sets.
      if (is_test(s) && s.module == "layers" && path.starts_with("network/")) continue;
      if (is_test(s) && path.starts_with("verify/golden_")) continue;
      ++checked;
      // x.wgsl.h is made of x.wgsl in the build folder.
      const std::string file = path.ends_with(".wgsl.h") ? path.substr(0, path.size() - 2) : path;
      EXPECT_TRUE(is_file(test::source_path("src/" + file)) || path.rfind("../", 0) == 0)
          << s.name << " includes " << path << ", which is not there";
      EXPECT_TRUE(may_include(s.module, module_of(path))) << s.name << " includes " << path << ": the arrow points up";
    }
  }
  EXPECT_GT(checked, 200u);
  for (const std::string& m : modules)
    EXPECT_TRUE(m == "text" || m == "grammar" || std::find(kOrder.begin(), kOrder.end(), m) != kOrder.end())
        << m << " has no place in the order";
}

// N-02: exp and its kin differ from one libm to the next. sqrt is exact everywhere.
TEST(Architecture, kernels_call_no_libm) {
  const std::string functions =
      "exp|exp2|expm1|exp10|tanh|sinh|cosh|log|log2|log10|log1p|sin|cos|tan|sincos|asin|acos|atan|atan2|pow|powf|erf|"
      "cbrt|hypot|tgamma|lgamma";
  std::size_t kernels = 0;
  for (const Source& s : sources()) {
    if (!s.name.ends_with("_cpu.cpp")) continue;
    ++kernels;
    const std::string code = code_of(s.text);
    for (const std::string& call : found(s, code, "(std::|::)(" + functions + ")f?\\s*\\(")) ADD_FAILURE() << call;
    for (const std::string& call : found(s, code, "(^|[^\\w:.>])(" + functions + ")f\\s*\\(")) ADD_FAILURE() << call;
  }
  EXPECT_GE(kernels, 6u);
}

// Code that decides a result outside the kernels calls no libm either.
TEST(Architecture, engine_calls_no_libm_where_results_come_from) {
  const std::set<std::string> modules = {"ops", "layers", "network", "dtypes", "learning", "lm", "backend"};
  for (const Source& s : sources()) {
    if (!modules.contains(s.module) || is_test(s)) continue;
    for (const std::string& call :
         found(s, code_of(s.text), "std::(exp|exp2|expm1|tanh|log|log2|log10|log1p|sin|cos|tan|pow|erf)f?\\s*\\("))
      ADD_FAILURE() << call;
  }
}

// Lookups in a hash table are fine, its order is not. text builds vocabularies from sorted or numbered lists and is
// tested by ids.
TEST(Architecture, nothing_iterates_over_a_hash_table) {
  const std::set<std::string> allowed = {
      "backend/webgpu/shaders.h", "core/json.cpp",           "grammar/masks.h",
      "grammar/runner.cpp",       "grammar/runner.h",        "grammar/schema.cpp",
      "lm/speculation.h",         "lm/tokenizer_tokens.cpp", "lm/trace.cpp"};  // tables only asked
  for (const Source& s : sources()) {
    if (s.module == "text" || is_test(s) || allowed.contains(s.name)) continue;
    for (const std::string& use : found(s, code_of(s.text), "std::unordered_\\w+"))
      ADD_FAILURE() << use << ": list it here when it is never iterated";
  }
  // An exception must stay one.
  for (const std::string& name : allowed) {
    const Source s{name, "core", test::read_all(test::source_path("src/" + name))};
    EXPECT_FALSE(found(s, s.text, "std::unordered_\\w+").empty()) << name;
    EXPECT_TRUE(found(s, s.text, "for \\([^;)]*: *(keys_|keys)").empty()) << name;
  }
}

// Fused multiply-adds and fast-math would change bits by compiler. Products that are exact have their own instruction,
// and a test that compares it with std::fma.
TEST(Architecture, no_pragma_loosens_floating_point) {
  const std::set<std::string> allowed = {"simd/fused.h", "ops/gemm/exact_products_test.cpp"};
  for (const Source& s : sources()) {
    if (allowed.contains(s.name)) continue;
    for (const std::string& use :
         found(s, code_of(s.text), "fast-math|ffast|FP_CONTRACT\\s+ON|__builtin_fma|_fmadd_|vfmaq_|std::fma\\b"))
      ADD_FAILURE() << use;
  }
}

// The engine neither prints nor talks (N-13); messages travel in Error.
TEST(Architecture, the_engine_neither_prints_nor_talks) {  // N-13
  // A broken invariant, before abort; observers that somebody made (engine E-40, E-44); a server that somebody starts;
  // LOOM_WEBGPU_LIB, which every program that names a device takes; the folders of caches, as huggingface_hub and XDG
  // name them; huggingface_hub's settings, of the command that fetches.
  const std::set<std::string> allowed = {"core/error.cpp",  "telemetry/socket/unix.cpp", "http/http_server.cpp",
                                         "host/device.cpp", "host/content_hash.cpp",     "lm/hub.cpp",
                                         "pull/variable.h"};
  for (const Source& s : sources()) {
    if (s.module == "cli" || is_test(s) || allowed.contains(s.name)) continue;
    for (const std::string& use :
         found(s, code_of(s.text),
               "\\b(std::cout|std::cerr|f?printf\\s*\\(|puts\\s*\\(|socket\\s*\\(|connect\\s*\\(|getenv\\s*\\()"))
      ADD_FAILURE() << use;
  }
}

// The work of commands must serve programs that have no terminal and take no flags.
TEST(Architecture, host_knows_neither_flags_nor_the_terminal) {
  std::size_t files = 0;
  for (const Source& s : sources()) {
    if (s.module != "host" || is_test(s)) continue;
    ++files;
    for (const std::string& use :
         found(s, s.text, "#\\s*include\\s*<(CLI/|termios|signal\\.h|csignal|iostream)|isatty\\s*\\("))
      ADD_FAILURE() << use << ": belongs into src/cli";
  }
  EXPECT_GT(files, 0u);
}

// Devices are made in one place; everything else above ops uses Device (backend/device.h).
TEST(Architecture, only_ops_and_the_maker_of_devices_know_graphics_cards) {
  std::size_t files = 0;
  for (const Source& s : sources()) {
    if (s.module == "backend" || s.module == "ops" || is_test(s)) continue;
    if (s.name == "host/device.cpp" || s.name == "host/device.h") continue;
    ++files;
    for (const std::string& use : found(s, s.text, "#\\s*include\\s*\"backend/webgpu/")) ADD_FAILURE() << use;
    for (const std::string& use : found(s, code_of(s.text), "\\bGpuDevice\\b|\\bgpu\\(\\)"))
      ADD_FAILURE() << use << ": use the functions of Device";
  }
  EXPECT_GT(files, 100u);
}

// The folders of src/ops, each an op or a few of a kind.
std::set<std::string> op_folders() {
  std::set<std::string> folders;
  for (const Source& s : sources())
    if (s.name.starts_with("ops/") && s.name.find('/', 4) != s.name.npos)
      folders.insert(s.name.substr(4, s.name.find('/', 4) - 4));
  return folders;
}

TEST(Architecture, a_test_stands_beside_each_op) {
  EXPECT_GT(op_folders().size(), 25u);
  for (const std::string& op : op_folders())
    EXPECT_TRUE(is_file(test::source_path("src/ops/" + op + "/" + op + "_test.cpp"))) << op << " has no test";
}

// Fronts of ops split work and keep the host's own books; elements of tensors are read and written by kernels alone,
// which a device has too.
TEST(Architecture, fronts_of_ops_touch_no_element) {
  // Numbers of the host: the table of rotary angles, class weights of a call.
  const std::set<std::string> allowed = {"ops/rope/rope.cpp", "ops/loss/softmax_loss.cpp"};
  const std::string element = "(as|row)<\\w+>\\([^()]*\\)( *\\+[^;,()]*\\))?\\[",
                    pointer = "\\*\\w+(\\.\\w+)*\\.(as|row)<", order = "\\bsnap\\(|\\blanes16<|\\bchain64<|\\bChain64<",
                    copies = "std::(fill|fill_n|copy|copy_n|memcpy|memset|memmove|transform|sort|accumulate)\\b";
  std::size_t fronts = 0;
  for (const Source& s : sources()) {
    // The cache of keys and values is on the host (docs/plan.md).
    if (s.module != "ops" || !s.name.ends_with(".cpp") || s.name.ends_with("_cpu.cpp") ||
        s.name.ends_with("_tiles.cpp") || s.name.ends_with("_pairs.cpp") || is_test(s) ||
        s.name.starts_with("ops/attention/"))
      continue;
    ++fronts;
    const std::vector<std::string> uses =
        found(s, code_of(s.text), "(" + element + ")|(" + pointer + ")|(" + order + ")|(" + copies + ")");
    if (allowed.contains(s.name)) {
      EXPECT_FALSE(uses.empty()) << s.name << " needs no exception";
      continue;
    }
    for (const std::string& use : uses) ADD_FAILURE() << use << ": an element outside of a kernel";
  }
  EXPECT_GT(fronts, 25u);
}

// Numerics 1.3 by bits (ops/non_finite.h): a shader may take infinities and NaNs for absent.
TEST(Architecture, kernels_tell_what_is_not_finite_by_its_bits) {  // numerics 1.3
  // These kernels store an infinity as a number: an outcome, a bound that nothing is above, where the search for a
  // largest number begins.
  const std::set<std::string> stores = {"ops/update/update_cpu.cpp", "ops/magnitude/magnitude_cpu.cpp",
                                        "ops/pool/pool_cpu.cpp", "ops/attention/sequence_attention_cpu.cpp"};
  for (const Source& s : sources()) {
    if (s.module != "ops" || !s.name.ends_with("_cpu.cpp")) continue;
    const std::string code = code_of(s.text);
    for (const std::string& use : found(s, code, "\\b(\\w+(\\[\\w+\\])?) [=!]= \\1(?![\\w\\[.(])"))
      ADD_FAILURE() << use;
    const std::vector<std::string> infinities = found(s, code, "huge_val|infinity\\(\\)|\\bkInfinity\\b");
    EXPECT_EQ(infinities.empty(), !stores.contains(s.name)) << s.name;
  }
}

// Two types of one name in namespace loom are one for the linker, which takes the code of either; what stands in a
// nested or nameless namespace is apart. Namespaces and what they hold begin in the first column; their ends say so.
TEST(Architecture, type_names_of_namespace_loom_are_unique) {
  const std::regex opens("^namespace\\s*([\\w:]*)[^}]*\\{"), closes("^\\}.*// namespace"),
      defines(
          "^(struct|class|enum class|enum|union)\\s+(?:alignas\\(\\d+\\)\\s+)?(\\w+)(\\s+final)?\\s*(:[^:;][^;]*)?\\{");
  std::map<std::string, std::set<std::string>> places;
  for (const Source& s : sources()) {
    std::istringstream lines(s.text);
    std::vector<std::string> inside;
    std::smatch found;
    for (std::string line; std::getline(lines, line);) {
      if (std::regex_search(line, found, opens))
        inside.push_back(found[1]);
      else if (std::regex_search(line, closes) && !inside.empty())
        inside.pop_back();
      else if (inside == std::vector<std::string>{"loom"} && std::regex_search(line, found, defines))
        places[found[2]].insert(s.name);
    }
  }
  EXPECT_GT(places.size(), 300u);
  EXPECT_EQ(places["Samples"], std::set<std::string>{"training/samples.h"});
  for (const auto& [name, files] : places)
    EXPECT_EQ(files.size(), 1u) << name << " is defined in " << *files.begin() << " and " << *files.rbegin()
                                << ": whoever reads it cannot tell which one is meant, and a program that links both "
                                   "runs the code of either; each needs a name that says what it is";
}

}  // namespace
}  // namespace loom
