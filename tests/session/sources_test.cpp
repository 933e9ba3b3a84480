// Models, tokenizers and networks from memory, a part of a file and a callback: the same bits as from their files.

#include <gtest/gtest.h>

#include <cstring>

#include "../support/small_model.h"
#include "io/network_file.h"
#include "io/safetensors/safetensors.h"
#include "lm/language_model.h"
#include "lm/model_entity.h"
#include "lm/session.h"

namespace loom::sources_test {
namespace {

// Gives one file's bytes in every way, each with its name. Memory is an allocation of its exact length, at an odd
// address.
class Ways {
 public:
  Ways(const std::string& path, const std::string& larger) : path_(path), larger_(larger), text_(test::read_all(path)) {
    test::write_all(larger_, "thirteen byte" + text_ + "and what follows");
    memory_.resize(text_.size() + 1);
    restore();
  }
  std::vector<std::shared_ptr<const ByteSource>> sources() const {
    const auto read = [this](std::uint64_t offset, std::span<std::byte> to) -> Result<std::size_t> {
      const std::size_t n = std::min<std::size_t>(to.size(), 65521);
      std::memcpy(to.data(), text_.data() + offset, n);
      return n;
    };
    return {*ByteSource::file(path_), *ByteSource::part_of_file(larger_, 13, text_.size()),
            ByteSource::memory("memory", std::span(memory_).subspan(1)),
            *ByteSource::read("callback", text_.size(), read), ByteSource::on_demand("demand", text_.size(), read)};
  }
  // Overwrites the memory, as a caller may after the call.
  void overwrite() { std::fill(memory_.begin(), memory_.end(), std::byte{0xee}); }
  void restore() { std::memcpy(memory_.data() + 1, text_.data(), text_.size()); }

 private:
  std::string path_, larger_, text_;
  std::vector<std::byte> memory_;
};

std::string logits_of(const LanguageModel& model) {
  SessionOptions options;
  options.context_tokens = 32, options.threads = 1;
  auto session = Session::create(model.decoder, options);
  if (!session) return session.error().text();
  std::vector<std::int32_t> ids;
  if (!(*model.need_tokenizer())->encode("Hello w\xc3\xb6rld", {}, ids)) return "no ids";
  const auto logits = (*session)->feed(ids);
  if (!logits) return logits.error().text();
  Sha256 hash;
  hash.update_floats(*logits);
  return to_hex(hash.finish());
}

TEST(Sources, language_models_and_tokenizers) {  // F-25
  const test::TempFolder folder;
  ASSERT_TRUE(test::write_small_model(folder / "m.gguf"));
  ASSERT_TRUE(write_model_entity(folder / "m.entity", read_model(folder / "m.gguf").value()));
  const std::string expected = logits_of(load_language_model(folder / "m.gguf").value());
  ASSERT_EQ(expected.size(), 64u) << expected;
  for (const char* name : {"m.gguf", "m.entity"}) {
    Ways ways(folder / name, folder / "larger");
    for (const auto& source : ways.sources()) {
      const auto model = load_language_model(source);
      ASSERT_TRUE(model) << model.error().text();
      ways.overwrite();
      EXPECT_EQ(logits_of(*model), expected) << name << " " << source->name();
      EXPECT_EQ(model->path, source->name());
      ways.restore();
    }
    for (const auto& source : ways.sources()) {
      const auto tokenizer = load_tokenizer(source);
      ASSERT_TRUE(tokenizer) << tokenizer.error().text();
      EXPECT_EQ((*tokenizer)->vocab_size(), (*load_tokenizer(folder / "m.gguf"))->vocab_size());
    }
  }
}

TEST(Sources, a_tokenizer_json) {  // F-25
  const test::TempFolder folder;
  const std::string path = test::source_path("tests/golden/models/llama_yarn/tokenizer.json");
  const Ways ways(path, folder / "larger");
  for (const auto& source : ways.sources()) {
    const auto tokenizer = load_tokenizer(source);
    ASSERT_TRUE(tokenizer) << tokenizer.error().text();
    EXPECT_EQ((*tokenizer)->vocab_size(), (*load_tokenizer(path))->vocab_size());
  }
}

TEST(Sources, networks) {  // F-25
  const test::TempFolder folder;
  const Network network = load_network(test::source_path("examples/networks/mixer_v2.json")).value().network;
  const std::vector<std::byte> expected = network_to_entity(network).value();
  for (const char* name : {"n.entity", "n.json"}) {
    ASSERT_TRUE(save_network(folder / name, network));
    const Ways ways(folder / name, folder / "larger");
    for (const auto& source : ways.sources()) {
      const auto loaded = load_network(source);
      ASSERT_TRUE(loaded) << loaded.error().text();
      EXPECT_EQ(network_to_entity(loaded->network).value(), expected) << name << " " << source->name();
    }
  }
}

TEST(Sources, safetensors) {  // F-25
  const test::TempFolder folder;
  const Ways ways(test::source_path("tests/golden/reference.safetensors"), folder / "larger");
  const auto expected = SafetensorsFile::open(test::source_path("tests/golden/reference.safetensors")).value();
  for (const auto& source : ways.sources()) {
    const auto file = SafetensorsFile::parse(source);
    ASSERT_TRUE(file) << file.error().text();
    ASSERT_EQ(file->tensors().size(), expected.tensors().size());
    for (std::size_t i = 0; i < expected.tensors().size(); ++i)
      EXPECT_TRUE(std::ranges::equal(file->tensors()[i].bytes, expected.tensors()[i].bytes));
  }
}

TEST(Sources, errors_name_the_source) {  // F-01
  const std::vector<std::byte> nothing(100);
  const auto source = ByteSource::memory("sixteen tons", nothing);
  for (const auto& error : {load_language_model(source).error(), load_tokenizer(source).error(),
                            load_network(source).error(), SafetensorsFile::parse(source).error()})
    EXPECT_NE(error.text().find("sixteen tons"), std::string::npos) << error.text();
}

}  // namespace
}  // namespace loom::sources_test
