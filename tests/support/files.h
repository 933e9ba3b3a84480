#pragma once
// Tests find their data and leave their files in these places.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "core/file.h"
#include "core/json.h"
#include "leftovers.h"
#include "paths.h"

namespace loom::test {

// Models and texts that are not in the repository. A name that cannot exist when LOOM_DATA is unset, so that the test
// fails.
inline std::string data_path(const std::string& name) {
  const char* folder = std::getenv("LOOM_DATA");
  return (folder ? std::string(folder) : std::string("LOOM_DATA is not set")) + "/" + name;
}
inline std::string smollm2() { return data_path("llm/SmolLM2-135M-Instruct.Q4_1.gguf"); }

inline std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
inline void write_all(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Null with a test failure when the file is missing or no JSON.
inline Json read_json(const std::string& path) {
  auto text = read_text_file(path);
  if (!text) {
    ADD_FAILURE() << text.error().text();
    return nullptr;
  }
  auto json = parse_json(*text);
  if (!json) {
    ADD_FAILURE() << path << ": " << json.error().text();
    return nullptr;
  }
  return std::move(*json);
}
inline std::vector<std::int32_t> ids_of(const Json& list) {
  std::vector<std::int32_t> out;
  for (const Json& id : list) out.push_back(static_cast<std::int32_t>(as_int(id).value_or(-1)));
  return out;
}
inline std::vector<double> numbers_of(const Json& list) {
  std::vector<double> out;
  for (const Json& v : list) out.push_back(as_number(v).value_or(0));
  return out;
}

// A folder of its own that goes when the test ends.
class TempFolder {
 public:
  TempFolder() {
    std::string name = testing::TempDir() + "loom-XXXXXX";
    if (mkdtemp(name.data()))
      path_ = name;
    else
      ADD_FAILURE() << "no temporary folder " << name;
  }
  ~TempFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace loom::test
