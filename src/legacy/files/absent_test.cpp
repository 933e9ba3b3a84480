// Of builds without LOOM_LEGACY alone.

#include "io/identify.h"
#include "io/network_file.h"
#include "legacy/files/write.h"

#include <gtest/gtest.h>

namespace loom {
namespace {

constexpr std::string_view kWhy = "this build has no files of Loom 0.8x (LOOM_LEGACY=OFF)";

TEST(NoLegacy, FilesAreRecognisedAndRefusedByName) {
  const std::string entity("ENTITY\0\0\1\0", 10);
  const auto bytes = std::as_bytes(std::span(entity));
  EXPECT_EQ(kind_of(bytes, "a.entity").value(), FileKind::Loom08Entity);
  const auto read = network_from_entity(bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::Unsupported);
  EXPECT_EQ(read.error().text(), "an .entity of version 1: " + std::string(kWhy));
  const std::string checkpoint = R"({"layers":[{"type":"dense","weights":"AAAA"}]})";
  const auto text = load_network(ByteSource::memory("a.json", std::as_bytes(std::span(checkpoint))));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().text(), "a.json: a JSON checkpoint of Loom 0.8x: " + std::string(kWhy));
  const auto written = loom08::write_entity(Network::create({}).value());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::Unsupported);
}

}  // namespace
}  // namespace loom
