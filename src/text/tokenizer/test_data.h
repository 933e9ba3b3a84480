#pragma once
// For tests: the folder of the fixtures, and the metadata of a GGUF file (src/text may not include src/io).

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace loom::text::fixtures {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// LOOM_DATA names the folder of models and vocabularies.
inline std::string data_path(const std::string& name) {
  const char* root = std::getenv("LOOM_DATA");
  EXPECT_NE(root, nullptr) << "LOOM_DATA is not set";
  return std::string(root ? root : ".") + "/" + name;
}

// Reads the tokenizer.* keys. Throws std::out_of_range on a file that ends early.
class GgufMetadata {
 public:
  explicit GgufMetadata(std::string bytes) : bytes_(std::move(bytes)) {
    take(4 + 4 + 8);
    for (auto n = number<std::uint64_t>(); n > 0; --n) {
      const std::string key = text();
      value(key, number<std::uint32_t>());
    }
  }
  VocabSpec spec() {
    const std::string k = "tokenizer.ggml.";
    VocabSpec s;
    if (!strings_["general.name"].empty()) s.general_name(strings_["general.name"][0]);
    s.model = strings_[k + "model"].empty() ? "" : strings_[k + "model"][0];
    s.pre = strings_[k + "pre"].empty() ? "" : strings_[k + "pre"][0];
    s.tokens = strings_[k + "tokens"];
    s.merges = strings_[k + "merges"];
    for (const double v : numbers_[k + "scores"]) s.scores.push_back(static_cast<float>(v));
    for (const double v : numbers_[k + "token_type"]) s.types.push_back(static_cast<std::int32_t>(v));
    const auto id = [&](const char* name) {
      const auto& v = numbers_[k + name];
      return v.empty() ? std::nullopt : std::optional(static_cast<std::int32_t>(v[0]));
    };
    s.bos = id("bos_token_id"), s.eos = id("eos_token_id"), s.unk = id("unknown_token_id"),
    s.sep = id("seperator_token_id");
    s.pad = id("padding_token_id"), s.cls = id("cls_token_id"), s.mask = id("mask_token_id");
    const auto flag = [&](const char* name) {
      const auto& v = numbers_[k + name];
      return v.empty() ? std::nullopt : std::optional(v[0] != 0);
    };
    s.add_bos = flag("add_bos_token"), s.add_eos = flag("add_eos_token"), s.add_space_prefix = flag("add_space_prefix");
    return s;
  }

 private:
  std::string_view take(std::size_t n) {
    if (n > bytes_.size() - at_) throw std::out_of_range("GGUF ends early");
    at_ += n;
    return std::string_view(bytes_).substr(at_ - n, n);
  }
  template <class T>
  T number() {
    T v;
    std::memcpy(&v, take(sizeof v).data(), sizeof v);
    return v;
  }
  std::string text() { return std::string(take(number<std::uint64_t>())); }
  void value(const std::string& key, std::uint32_t type) {
    switch (type) {
      case 0:
      case 7: numbers_[key].push_back(number<std::uint8_t>()); break;
      case 1: numbers_[key].push_back(number<std::int8_t>()); break;
      case 2: numbers_[key].push_back(number<std::uint16_t>()); break;
      case 3: numbers_[key].push_back(number<std::int16_t>()); break;
      case 4: numbers_[key].push_back(number<std::uint32_t>()); break;
      case 5: numbers_[key].push_back(number<std::int32_t>()); break;
      case 6: numbers_[key].push_back(number<float>()); break;
      case 8: strings_[key].push_back(text()); break;
      case 10:
      case 11: numbers_[key].push_back(static_cast<double>(number<std::int64_t>())); break;
      case 12: numbers_[key].push_back(number<double>()); break;
      case 9: {
        const auto element = number<std::uint32_t>();
        for (auto n = number<std::uint64_t>(); n > 0; --n) value(key, element);
        break;
      }
      default: throw std::out_of_range("GGUF value type");
    }
  }
  std::string bytes_;
  std::size_t at_ = 0;
  std::map<std::string, std::vector<std::string>> strings_;
  std::map<std::string, std::vector<double>> numbers_;
};

inline VocabSpec gguf_spec(const std::string& name) { return GgufMetadata(read_file(data_path(name))).spec(); }

// Returns the name as one of a parameterised test.
inline std::string parameter_name(std::string name) {
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

template <class T>
T value_of(Result<T> r) {
  if (!r) ADD_FAILURE() << r.error().text();
  return std::move(r.value());
}

inline std::vector<std::int32_t> encode(const Tokenizer& t, std::string_view text, bool add_special = true,
                                        bool parse_special = true) {
  std::vector<std::int32_t> ids;
  const auto r = t.encode(text, {add_special, parse_special}, ids);
  EXPECT_TRUE(r.has_value()) << (r ? "" : r.error().text());
  return ids;
}

}  // namespace loom::text::fixtures
