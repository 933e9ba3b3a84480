// docs/reference/layers.md has every key of networks and layers with its default and meaning, as the schema has them,
// and what each kind computes; its examples run.

#include <algorithm>
#include <set>

#include "core/nearest.h"
#include "layers/all.h"
#include "layers/share/share.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "support/key_tables.h"

namespace loom::layers_page_test {
namespace {

constexpr const char* kPage = "docs/reference/layers.md";
constexpr std::string_view kHeader = "| Key | Default | Meaning |\n| --- | --- | --- |\n";

// The page's sections by heading; what stands in front has none.
std::vector<std::pair<std::string, std::string>> sections() {
  const auto text = read_text_file(test::source_path(kPage));
  EXPECT_TRUE(text) << (text ? "" : text.error().text());
  std::vector<std::pair<std::string, std::string>> all(1);
  std::istringstream in(text.value_or(""));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ") || line.starts_with("### "))
      all.emplace_back(line.substr(line.find(' ') + 1), "");
    else
      all.back().second += line + "\n";
  }
  return all;
}

std::string table(const Json& schema) {
  std::string text;
  for (const KeyRow& row : key_rows(schema)) {
    EXPECT_FALSE(row.help.empty()) << row.key << " has no line of help";
    text += test::row_text(row) + "\n";
  }
  return text.empty() ? "" : std::string(kHeader) + text;
}

// "- `dense` (`linear`): y = act(W x + b). Shapes: input -> output."
std::string line_of(const LayerKind& kind) {
  std::string aliases;
  for (const std::string_view alias : split_names(kind.aliases))
    aliases += fmt::format("{}`{}`", aliases.empty() ? " (" : ", ", alias);
  return fmt::format("- `{}`{}{}: {}. Shapes: {}.\n", kind.name, aliases, aliases.empty() ? "" : ")", kind.help,
                     kind.shapes);
}

// The section has this text, whose table is its only one of keys and has no row more.
void expect_in(const std::string& heading, const std::string& body, const std::string& text) {
  const std::string plain = test::without_links(body);
  const std::size_t at = plain.find(text);
  if (at == plain.npos) {
    ADD_FAILURE() << kPage << ", " << heading << ", expected:\n" << text;
    return;
  }
  const std::string rest = plain.substr(0, at) + plain.substr(at + text.size());
  EXPECT_EQ(rest.find(kHeader), rest.npos) << kPage << ", " << heading << ": a second table of keys";
  EXPECT_NE(plain[at + text.size()], '|') << kPage << ", " << heading << ": a row that the schema does not have";
}

TEST(LayersPage, every_key_of_networks_and_layers_stands_there_with_its_default) {  // J-01
  const std::pair<std::string, Json> parts[] = {
      {"Keys of a network", spec_schema()}, {"Keys of every layer", layer_schema()}, {"Keys of a link", link_schema()}};
  const auto all = sections();
  for (const auto& [heading, schema] : parts) {
    const auto found = std::ranges::find(all, heading, &std::pair<std::string, std::string>::first);
    expect_in(heading, found == all.end() ? "" : found->second, table(schema));
  }
}

// Kinds with the same keys share a section, whose heading names them all.
TEST(LayersPage, every_kind_has_a_section_with_its_keys) {  // L-01
  std::map<std::string, std::string> wanted;                // table by kind
  for (const LayerKind* kind : layer_kinds()) wanted[std::string(kind->name)] = table(kind_schema(*kind));
  for (const auto& [heading, body] : sections()) {
    std::string text, keys;
    std::istringstream names(heading);
    for (std::string name; std::getline(names >> std::ws, name, ',');) {
      const auto found = wanted.find(name);
      if (found == wanted.end()) continue;
      EXPECT_TRUE(keys.empty() || keys == found->second) << heading << ": kinds with different keys";
      keys = found->second;
      text += line_of(**layer_kind(name));
      wanted.erase(found);
    }
    if (!text.empty()) {
      expect_in(heading, body, text + (keys.empty() ? "" : "\n" + keys));
    } else if (body.find(kHeader) != body.npos) {
      EXPECT_TRUE(heading.starts_with("Keys of ")) << kPage << " has keys of " << heading << ", which is no kind";
    }
  }
  for (const auto& [name, keys] : wanted)
    ADD_FAILURE() << kPage << " has no section of " << name << ", expected:\n"
                  << line_of(**layer_kind(name)) << "\n"
                  << keys;
}

TEST(LayersPage, no_key_and_no_kind_is_without_help) {  // J-01
  test::expect_described(spec_schema());
  for (const LayerKind* kind : layer_kinds()) {
    EXPECT_FALSE(kind->help.empty()) << kind->name;
    EXPECT_FALSE(kind->shapes.empty()) << kind->name;
  }
  EXPECT_FALSE(Share::kKind.help.empty());
}

TEST(LayersPage, its_examples_run) {  // J-25
  const auto text = read_text_file(test::source_path(kPage));
  ASSERT_TRUE(text) << text.error().text();
  std::size_t examples = 0;
  for (std::size_t begin = text->find("```json\n"); begin != text->npos; begin = text->find("```json\n", begin + 1)) {
    const std::string spec = text->substr(begin + 8, text->find("```", begin + 8) - begin - 8);
    const auto read = network_from_json(spec);
    ASSERT_TRUE(read) << spec << read.error().text();
    EXPECT_TRUE(read->warnings.empty()) << spec << read->warnings[0];
    ASSERT_TRUE(read->network.settings.input_shape) << spec;
    const Shape shape = read->network.with_batch(*read->network.settings.input_shape, 1);
    const std::vector<float> x(shape.elements(), 1.0f);  // token ids too
    const auto session = NetworkSession::create(read->network, read->plans.forward, {.threads = 1});
    ASSERT_TRUE(session) << session.error().text();
    const auto y = (*session)->forward({x.data(), shape});
    EXPECT_TRUE(y) << spec << y.error().text();
    ++examples;
  }
  EXPECT_GE(examples, 2u);
}

}  // namespace
}  // namespace loom::layers_page_test
