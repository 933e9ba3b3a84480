// Processors as Linux describes them, and files that are replaced while somebody reads them.

#include "core/system.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <utility>

#include "core/file.h"
#include "core/system_lines.h"
#include "core/weight_memory.h"
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>

#include "core/system/linux_cores.h"
#include "core/system/linux_nodes.h"
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

class MemoryNodes : public SystemTest {
 protected:
  // Two sockets of four hyper-threads each, memory without processors on node 2, processors without memory on node 3.
  void SetUp() override {
    SystemTest::SetUp();
    put("system/node/has_memory", "0-2");
    put("system/node/node0/cpulist", "0-3");
    put("system/node/node1/cpulist", "4-7");
    put("system/node/node2/cpulist", "");
    put("system/node/node3/cpulist", "8-11");
  }
  std::vector<int> nodes(const std::vector<int>& cpus, const std::vector<int>& allowed) const {
    return os::nodes_of(folder_, cpus, allowed);
  }
};

TEST_F(MemoryNodes, AreThoseOfTheProcessorsThatHaveMemory) {
  const std::vector<int> all = {0, 1, 2, 3};
  EXPECT_EQ(nodes({0, 1, 2, 3, 4, 5, 6, 7, 8}, all), (std::vector{0, 1}));
  EXPECT_EQ(nodes({3, 4}, all), (std::vector{0, 1}));
  EXPECT_EQ(nodes({0, 3}, all), (std::vector{0}));
  EXPECT_EQ(nodes({8}, all), (std::vector<int>{}));
  EXPECT_EQ(nodes({3, 4}, {1, 2}), (std::vector{1}));  // of a container
  fs::remove(folder_ + "/system/node/has_memory");     // a kernel without NUMA
  EXPECT_EQ(nodes({3, 4}, all), (std::vector<int>{}));
}

TEST(WeightMemory, IsInterleavedOverSeveralNodesAndARefusalIsCounted) {
  constexpr std::size_t kBytes = (std::size_t{8} << 20) + 4096;
  constexpr int kInterleave = 3;
  constexpr unsigned long kOfAddress = 2;  // MPOL_F_ADDR
  const auto policy = [](const Buffer& memory, std::size_t at, unsigned long(&mask)[16]) {
    int mode = -1;
    const long answer = syscall(SYS_get_mempolicy, &mode, mask, 1025ul, memory.data() + at, kOfAddress);
    return answer == 0 ? mode : -1;
  };
  unsigned long mask[16] = {};
  const Buffer plain = Buffer::create(kBytes).value();
  if (policy(plain, 0, mask) != 0) GTEST_SKIP() << "this system has no memory policies, or numactl has set one";

  // Node 0 twice counts as several nodes, and every machine has it.
  const WeightPieces before = weight_pieces();
  Buffer spread = create_weight_buffer(kBytes, std::vector{0, 0}).value();
  EXPECT_EQ(policy(spread, 0, mask), kInterleave);
  EXPECT_EQ(mask[0], 1U);
  EXPECT_EQ(policy(spread, kBytes - 1, mask), kInterleave);
  EXPECT_EQ(policy(plain, 0, mask), 0);
  for (std::size_t i = 0; i < kBytes; i += 4096)
    ASSERT_EQ(std::exchange(spread.bytes()[i], std::byte{1}), std::byte{0});
  EXPECT_EQ(weight_pieces().interleaved, before.interleaved + 1);

  // A policy without any node of the machine is refused, and the memory is as good.
  Buffer refused = create_weight_buffer(kBytes, std::vector{1022, 1023}).value();
  EXPECT_EQ(policy(refused, 0, mask), 0);
  std::ranges::fill(refused.bytes(), std::byte{1});
  EXPECT_EQ(weight_pieces().refused, before.refused + 1);

  // One node, and small pieces.
  EXPECT_EQ(policy(create_weight_buffer(kBytes, std::vector{0}).value(), 0, mask), 0);
  ASSERT_TRUE(create_weight_buffer(4096, std::vector{0, 0}));
  EXPECT_EQ(weight_pieces().local, before.local + 1);
  EXPECT_EQ(weight_pieces().interleaved, before.interleaved + 1);
  EXPECT_EQ(weight_pieces().refused, before.refused + 1);
}

TEST(WeightMemory, NodesAreSeveralOrNone) { EXPECT_NE(os::memory_nodes().size(), 1U); }
TEST(SystemLines, AreReadWhateverSizeTheFileReports) {
  const auto processor = system_lines("/proc/cpuinfo");  // reports no bytes
  EXPECT_GT(processor.size(), 5u);
  EXPECT_NE(processor.front().find(':'), std::string::npos);
  const std::string page = "/sys/kernel/mm/transparent_hugepage/enabled";  // reports a page
  if (fs::exists(page)) {
    const auto pages = system_lines(page);
    ASSERT_EQ(pages.size(), 1u);
    EXPECT_NE(pages.front().find("never"), std::string::npos);
  }
}
#endif

TEST_F(SystemTest, LinesHaveNoEndsAndAMissingFileHasNone) {
  put("lines", "one\n\nthree");
  EXPECT_EQ(system_lines(folder_ + "/lines"), (std::vector<std::string>{"one", "", "three"}));
  std::ofstream(folder_ + "/open") << "one\ntwo";
  EXPECT_EQ(system_lines(folder_ + "/open"), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(system_lines(folder_ + "/missing"), std::vector<std::string>{});
}

}  // namespace loom::system_test
