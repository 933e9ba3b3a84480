#include "backend/webgpu/workgroup_memory.h"

#include <gtest/gtest.h>

namespace loom::gpu {
namespace {

TEST(WorkgroupMemory, IsCountedByTheTextOfABody) {
  const auto bytes = [](std::string_view body, std::size_t dim = 100) {
    return workgroup_bytes(Kernel("kernel", body).fixed("dim", dim).fixed("is_own", 1));
  };
  EXPECT_EQ(bytes("fn run(group: u32, thread: u32) {}\n"), 0u);
  EXPECT_EQ(bytes("var<workgroup> last: u32;\n"), 16u);
  EXPECT_EQ(bytes("var<workgroup> a: array<f32, 256>;\nvar<workgroup> b: array<vec4<u32>, 272>; // quads\n"),
            1024u + 4352u);
  EXPECT_EQ(bytes("var<workgroup> totals: array<array<f32, 16>, 2>;\n"), 128u);
  EXPECT_EQ(bytes("const padded = (dim + 63u) / 64u * 64u;\nvar<workgroup> q: array<f32, padded>;\n"), 512u);
  EXPECT_EQ(bytes("const words = select(1u, 2u * padded, is_own != 0u);\nconst padded = dim + 28u;\n"
                  "var<workgroup> own: array<u32, words>;\n"),
            1024u);
  EXPECT_EQ(
      bytes(
          "const few = 3u * dim;\nconst many = 301u - 1u % 2u;\nvar<workgroup> x: array<vec4<u32>, max(few, many)>;\n"),
      4800u);
  EXPECT_EQ(bytes("var<workgroup> x: array<u32, unknown>;\n"), std::nullopt);
  EXPECT_EQ(bytes("const a = b;\nconst b = a;\nvar<workgroup> x: array<u32, a>;\n"), std::nullopt);
  EXPECT_EQ(bytes("var<workgroup> x: array<u32, dim / 0u>;\n"), std::nullopt);
  EXPECT_EQ(bytes("var<workgroup> x: Pair;\n"), std::nullopt);
}

}  // namespace
}  // namespace loom::gpu
