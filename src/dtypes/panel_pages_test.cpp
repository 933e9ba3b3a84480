// Panels that leave the memory of the host, and that readers find again.

#include "dtypes/panel_pages.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/system.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace loom {
namespace {

constexpr std::size_t kRows = 1024, kCols = 1040;

std::vector<float> some_values() {
  std::vector<float> v(kRows * kCols);
  std::uint32_t state = 7;
  for (float& x : v) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f;
  }
  return v;
}

Result<Matrix> matrix_of(const std::vector<float>& values, std::shared_ptr<PanelPool> pool = nullptr) {
  return Matrix::from_source(DType::float32, std::as_bytes(std::span(values)), kRows, kCols, {}, std::move(pool));
}

// A matrix in a pool of its own, which is made again from `values` as they are then.
struct Leaving {
  std::vector<float> values = some_values();
  std::atomic<int> made{0};
  std::optional<Error> error;
  Matrix matrix;

  Leaving() {
    auto pool = PanelPool::create(PanelPool::room_for(kRows * kCols * sizeof(float)));
    EXPECT_TRUE(pool && (*pool)->has_pages());
    matrix = matrix_of(values, *pool).value();
    matrix.let_panels_leave("model.gguf: table", [this](std::span<std::byte> panels) -> Result<void> {
      ++made;
      if (error) return tl::make_unexpected(*error);
      LOOM_TRY(const Matrix again, matrix_of(values));
      std::ranges::copy(std::span(again.panel(0), panels.size()), panels.begin());
      return {};
    });
    EXPECT_NE(matrix.pages(), nullptr);
  }
  PanelPages& pages() const { return *matrix.pages(); }
  std::size_t bytes() const { return matrix.panels() * matrix.panel_bytes(); }
  bool holds_values() const {
    std::vector<float> row(kCols);
    for (const std::size_t r : {std::size_t{0}, kRows / 2 + 3, kRows - 1}) {
      matrix.decode_row(r, row.data());
      if (!std::equal(row.begin(), row.end(), values.begin() + static_cast<std::ptrdiff_t>(r * kCols))) return false;
    }
    return true;
  }
};

#if defined(__linux__)
std::size_t resident(const Matrix& m) {
  std::vector<unsigned char> pages(m.panels() * m.panel_bytes() / os::page_bytes());
  EXPECT_EQ(::mincore(const_cast<std::byte*>(m.panel(0)), pages.size() * os::page_bytes(), pages.data()), 0);
  return static_cast<std::size_t>(std::ranges::count_if(pages, [](unsigned char p) { return (p & 1) != 0; }));
}
#endif

#define LOOM_NEEDS_PAGES() \
  if (os::page_bytes() == 0) GTEST_SKIP() << "panels stay on this system"

TEST(PanelPages, PanelsLeaveAndComeBackWithTheSameBytes) {
  LOOM_NEEDS_PAGES();
  Leaving one;
  const std::vector<std::byte> before(one.matrix.panel(0), one.matrix.panel(0) + one.bytes());
  const std::byte* const address = one.matrix.panel(0);
  EXPECT_TRUE(one.pages().may_leave());
  one.pages().leave();
  EXPECT_FALSE(one.pages().is_on_host());
#if defined(__linux__)
  EXPECT_EQ(resident(one.matrix), 0u);
#endif
  EXPECT_TRUE(one.matrix.beginning(4096) == std::vector<std::byte>(before.begin(), before.begin() + 4096));
  EXPECT_EQ(one.made, 0);
  {
    const auto held = PanelHold::take(one.matrix);
    ASSERT_TRUE(held) << held.error().text();
    EXPECT_EQ(one.matrix.panel(0), address);
    EXPECT_TRUE(std::ranges::equal(std::span(one.matrix.panel(0), one.bytes()), before));
    one.pages().leave();  // somebody reads them
    EXPECT_TRUE(one.pages().is_on_host());
  }
  EXPECT_FALSE(one.pages().may_leave());  // they were read meanwhile
  EXPECT_TRUE(one.pages().may_leave());
  one.pages().leave();
  EXPECT_FALSE(one.pages().is_on_host());
  EXPECT_TRUE(one.holds_values());
  EXPECT_EQ(one.made, 2);
}

TEST(PanelPages, OtherValuesAndErrorsAreReportedAndNothingIsHeld) {
  LOOM_NEEDS_PAGES();
  Leaving one;
  one.pages().leave();
  one.values[kCols * 77 + 5] += 1;
  auto held = PanelHold::take(one.matrix);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::CorruptData);
  EXPECT_NE(held.error().text().find("model.gguf: table"), std::string::npos) << held.error().text();
  EXPECT_NE(held.error().text().find("has changed"), std::string::npos) << held.error().text();
  one.error = Error{Code::IoError, "gone"};
  held = PanelHold::take(one.matrix);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::IoError);
  EXPECT_FALSE(one.matrix.to_quantized());
  EXPECT_FALSE(one.pages().is_on_host());
#if GTEST_HAS_DEATH_TEST
  float row[kCols];
  EXPECT_DEATH(one.matrix.decode_row(3, row), "");  // no zeros in their place
#endif
  one.error.reset();
  one.values = some_values();
  EXPECT_TRUE(one.holds_values());
}

TEST(PanelPages, WrittenPanelsStay) {
  LOOM_NEEDS_PAGES();
  Leaving one;
  QuantizedMatrix unused;
  one.values[0] = 5;
  one.matrix.refill(one.values, 0, one.matrix.panels(), unused);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(one.pages().may_leave());
    one.pages().leave();
  }
  EXPECT_TRUE(one.pages().is_on_host());
  EXPECT_TRUE(one.holds_values());
  EXPECT_EQ(one.made, 0);
}

TEST(PanelPages, ThreadsThatReadWhilePanelsLeaveFindThem) {
  LOOM_NEEDS_PAGES();
  Leaving one;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t)
    readers.emplace_back([&] {
      while (!stop) {
        wrong += one.holds_values() ? 0 : 1;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
  for (int i = 0; i < 200'000 && one.made < PanelPages::kMostTimes; ++i) {
    one.pages().leave();
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(one.made, PanelPages::kMostTimes);
  one.pages().leave();  // made again often enough
  EXPECT_TRUE(one.pages().is_on_host());
}

TEST(PanelPages, SmallPoolsAndMatricesOfTheirOwnStay) {
  const std::vector<float> values(256, 1);
  auto pool = PanelPool::create(4096).value();
  EXPECT_FALSE(pool->has_pages());
  for (const auto& in : {pool, std::shared_ptr<PanelPool>()}) {
    Matrix m = Matrix::from_source(DType::float32, std::as_bytes(std::span(values)), 16, 16, {}, in).value();
    m.let_panels_leave("model.gguf: table", [](std::span<std::byte>) -> Result<void> { return {}; });
    EXPECT_EQ(m.pages(), nullptr);
    EXPECT_EQ(m.beginning(64).size(), 64u);
    EXPECT_TRUE(PanelHold::take(m));
  }
}

}  // namespace
}  // namespace loom
