// Processors as Linux describes them, and files that are replaced while somebody reads them.

#include "core/system.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "core/file.h"
#ifdef __linux__
#include "core/system/linux_cores.h"
#endif

namespace loom::system_test {

namespace fs = std::filesystem;

class SystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "loom-system-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text << '\n';
  }
  std::string folder_;
};

TEST_F(SystemTest, AMappedFileIsReplacedAndTheMapKeepsItsBytes) {
  put("a", "old");
  const auto map = MappedFile::open(folder_ + "/a");
  ASSERT_TRUE(map);
  ASSERT_TRUE(write_file_atomically(folder_ + "/a", std::as_bytes(std::span("new", 3))));
  EXPECT_EQ(read_text_file(folder_ + "/a").value(), "new");
  EXPECT_EQ(std::memcmp((*map)->bytes().data(), "old\n", 4), 0);
  EXPECT_EQ(os::names_in(folder_)->size(), 1U);
}

TEST(SystemCores, PerformanceCoresAreSomeOfThePhysicalOnes) {
  EXPECT_GE(os::performance_cores(), 1);
  EXPECT_LE(os::performance_cores(), os::physical_cores());
}

#ifdef __linux__
class Processors : public SystemTest {
 protected:
  // A processor `cpu` whose core has the given hyper-threads.
  void add(int cpu, const std::string& siblings, int capacity = 0) const {
    const std::string at = "system/cpu/cpu" + std::to_string(cpu);
    put(at + "/topology/thread_siblings_list", siblings);
    if (capacity != 0) put(at + "/cpu_capacity", std::to_string(capacity));
  }
  void expect(int cpus, int physical, int performance) const {
    std::vector<int> all(static_cast<std::size_t>(cpus));
    std::iota(all.begin(), all.end(), 0);
    expect(all, physical, performance);
  }
  void expect(const std::vector<int>& cpus, int physical, int performance) const {
    const os::Cores found = os::count_cores(folder_, cpus);
    EXPECT_EQ(found.physical, physical);
    EXPECT_EQ(found.performance, performance);
  }
};

TEST_F(Processors, OfOneKindAllCoresAreFast) {
  for (int cpu = 0; cpu < 8; ++cpu) add(cpu, std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4));
  expect(8, 4, 4);
  expect({4, 5}, 2, 2);  // the second hyper-threads of two cores
}

TEST_F(Processors, WithoutADescriptionEachCountsAsACore) { expect(3, 3, 3); }

TEST_F(Processors, OfIntelsHybridsTheListedOnesAreFast) {
  for (int cpu = 0; cpu < 4; ++cpu) add(cpu, std::to_string(cpu / 2 * 2) + "-" + std::to_string(cpu / 2 * 2 + 1));
  for (int cpu = 4; cpu < 8; ++cpu) add(cpu, std::to_string(cpu));
  put("cpu_core/cpus", "0-3");
  put("cpu_atom/cpus", "4-7");
  expect(8, 6, 2);
  expect({2, 3, 6}, 2, 1);
  expect({5, 6, 7}, 3, 3);  // a process that may use slow ones alone uses them
}

TEST_F(Processors, OfPhonesThoseOfLittleCapacityAreSlow) {
  const int capacities[] = {250, 250, 250, 250, 870, 870, 870, 1024};
  for (int cpu = 0; cpu < 8; ++cpu) add(cpu, std::to_string(cpu), capacities[cpu]);
  expect(8, 8, 4);
  expect({0, 1}, 2, 2);
}
#endif

}  // namespace loom::system_test
