#include "core/base64.h"

#include <gtest/gtest.h>

#include "support/files.h"

namespace loom {
namespace {

using test::bytes_of;

std::string decoded(std::string_view text) {
  const auto bytes = base64_decode(text);
  EXPECT_TRUE(bytes) << text;
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "";
}

TEST(Base64, rfc_4648_vectors) {  // F-10
  constexpr std::pair<const char*, const char*> kVectors[] = {{"", ""},
                                                              {"f", "Zg=="},
                                                              {"fo", "Zm8="},
                                                              {"foo", "Zm9v"},
                                                              {"foob", "Zm9vYg=="},
                                                              {"fooba", "Zm9vYmE="},
                                                              {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, text] : kVectors) {
    EXPECT_EQ(base64_encode(bytes_of(plain)), text);
    EXPECT_EQ(decoded(text), plain);
  }
}

TEST(Base64, every_byte_comes_back) {  // F-10
  std::vector<std::byte> all;
  for (int n = 0; n < 259; ++n) {
    const auto back = base64_decode(base64_encode(all));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, all);
    all.push_back(static_cast<std::byte>(n * 7));
  }
  const std::byte high[] = {std::byte{0xfb}, std::byte{0xff}, std::byte{0xbf}};
  EXPECT_EQ(base64_encode(high), "+/+/");
}

TEST(Base64, refuses_what_is_not_strict) {  // F-10
  for (const std::string_view bad : {"Z", "Zg", "Zg=", "Zg===", "====", "=", "Z===", "Zg==Zg==", "Zm=v", "Zm9v\n",
                                     "Zm 9", "Zm9-", "Zm9_", "Zh==", "Zm9=", "Zm8=Zm8=", "Zm\x80v"}) {
    const auto got = base64_decode(bad);
    ASSERT_FALSE(got) << bad;
    EXPECT_EQ(got.error().code, Code::CorruptData);
  }
  EXPECT_FALSE(base64_decode(std::string_view("Zm\0v", 4)));
  EXPECT_NE(base64_decode("Zm9vZ*==").error().text().find("character 5"), std::string::npos);
}

}  // namespace
}  // namespace loom
