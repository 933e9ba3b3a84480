// docs/training.md lists every key that a config may have, each with its default; and no others.

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "training/config_reader.h"
#include "training/data_config.h"
#include "training/train_config.h"
#include "training/training_test.h"
#include "support/paths.h"

namespace loom {
namespace {

// "`key`" -> default, from the rows "| `key` | `default` | meaning |".
std::map<std::string, std::string> documented() {
  std::map<std::string, std::string> keys;
  const auto page = read_text_file(test::source_path("docs/training.md"));
  EXPECT_TRUE(page);
  std::istringstream text(page ? *page : std::string());
  for (std::string line; std::getline(text, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    const std::size_t end = line.find('`', 3), bar = line.find('|', end), next = line.find('|', bar + 1);
    if (next == line.npos) continue;
    std::string standard = line.substr(bar + 1, next - bar - 1);
    standard.erase(0, standard.find_first_not_of(" `"));
    standard.erase(standard.find_last_not_of(" `") + 1);
    const std::string key = line.substr(3, end - 3);
    EXPECT_TRUE(keys.emplace(key, standard).second) << key << " stands twice";
    EXPECT_GT(line.size() - next, 6u) << key << " has no meaning";
  }
  return keys;
}

TEST(ConfigDocs, T_01_every_key_stands_in_the_manual_with_its_default) {
  const training_test::Folder folder;
  folder.write("a.csv", "x,y\n1,0\n2,1\n3,0\n4,1\n");
  folder.write("a.txt", "some text to read");
  const auto asked = ConfigReader::keys_asked_for([&] {
    for (const char* optimizer : {"sgd", "lbfgs"}) {
      Json config = parse_json(R"({"network":{},"data":{},"early_stop":{},"optimizer":{}})").value();
      config["optimizer"]["name"] = optimizer;
      EXPECT_TRUE(read_train_config(config, ""));
    }
    for (const char* data :
         {R"({"format":"csv","path":"a.csv","class_ids":true,"normalise":{"offset":[0],"scale":[1]}})", R"({"format":"text","path":"a.txt","length":4})",
          R"({"format":"series","path":"a.csv","length":1})", R"({"format":"idx","inputs":"i","targets":"t"})", R"({"format":"npz","path":"p","inputs":"i","targets":"t"})",
          R"({"format":"images","path":"none"})"})
      (void)open_training_data(parse_json(data).value(), folder.path, 0);
  });
  ASSERT_GT(asked.size(), 60u);
  std::map<std::string, std::string> manual = documented(), left = manual;
  std::map<std::string, std::vector<std::string>> defaults;
  for (const ConfigReader::Key& key : asked) {
    left.erase(key.place);
    if (manual.find(key.place) == manual.end()) {
      ADD_FAILURE() << "docs/training.md lacks | `" << key.place << "` | `" << dump_json(key.standard) << "` |";
      manual[key.place] = "-";
      continue;
    }
    defaults[key.place].push_back(dump_json(key.standard));
  }
  for (const auto& [place, values] : defaults) {
    const std::string& said = manual[place];
    // A dash: required, or it depends on others, as the meaning says.
    if (said == "-") continue;
    bool found = false;
    for (const std::string& value : values) found = found || value == said || (value == "\"\"" && said.empty());
    EXPECT_TRUE(found) << place << ": the manual says " << said << ", the reader " << values[0];
  }
  for (const auto& [place, standard] : left) ADD_FAILURE() << "docs/training.md has " << place << ", which no reader knows";
}

}  // namespace
}  // namespace loom
