#include "host/tensor_file.h"

#include "support/files.h"

namespace loom::host_tensor_file_test {
namespace {

TEST(TensorFile, nested_lists_become_values_and_a_shape) {
  const test::TempFolder folder;
  test::write_all(folder / "x.json", "[[1, 2.5, -3], [4, 5, 6]]");
  const auto x = read_tensor(folder / "x.json");
  ASSERT_TRUE(x) << x.error().text();
  EXPECT_EQ(x->shape, Shape::of({2, 3}));
  EXPECT_EQ(x->values, (std::vector<double>{1, 2.5, -3, 4, 5, 6}));
}

TEST(TensorFile, lists_that_are_ragged_or_hold_no_numbers_are_refused) {
  const test::TempFolder folder;
  const std::pair<const char*, Code> cases[] = {
      {"[[1, 2], [3]]", Code::ShapeMismatch}, {"[1, [2]]", Code::ShapeMismatch},
      {"[[1], 2]", Code::ShapeMismatch},      {"[]", Code::CorruptData},
      {"[\"one\"]", Code::CorruptData},       {"[1,", Code::CorruptData}};
  for (const auto& [text, code] : cases) {
    test::write_all(folder / "x.json", text);
    const auto x = read_tensor(folder / "x.json");
    ASSERT_FALSE(x) << text;
    EXPECT_EQ(x.error().code, code) << text << ": " << x.error().text();
    EXPECT_NE(x.error().text().find("x.json"), std::string::npos) << x.error().text();
  }
  EXPECT_EQ(read_tensor(folder / "absent.npy").error().code, Code::NotFound);
}

// NumPy wrote the files.
TEST(TensorFile, arrays_of_numpy_keep_values_and_shape) {
  const std::string folder = test::source_path("tests/golden/npy/");
  const auto wide = read_tensor(folder + "f8.npy"), narrow = read_tensor(folder + "f4.npy"),
             whole = read_tensor(folder + "big_i8.npy");
  ASSERT_TRUE(wide && narrow && whole);
  EXPECT_EQ(wide->shape, Shape::of({1, 1, 5}));
  EXPECT_EQ(wide->values, (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
  EXPECT_EQ(narrow->shape, Shape::of({2, 3}));
  EXPECT_EQ(narrow->values, (std::vector<double>{-1, -0.5, 0, 0.5, 1, 1.5}));
  EXPECT_EQ(whole->values, (std::vector<double>{-2, -1, 0, 1}));
}

TEST(TensorFile, examples_are_inputs_with_or_without_targets) {
  const test::TempFolder folder;
  test::write_all(folder / "both.json", R"({"inputs": [[1, 2], [3, 4]], "targets": [0, 1]})");
  test::write_all(folder / "inputs.json", R"({"inputs": [[1, 2]]})");
  test::write_all(folder / "list.json", "[[7, 8]]");
  test::write_all(folder / "bad.json", R"({"inputs": [[1, 2]], "targets": [[1], 2]})");
  const auto both = read_examples(folder / "both.json");
  ASSERT_TRUE(both) << both.error().text();
  EXPECT_TRUE(both->has_targets);
  EXPECT_EQ(both->targets.values, (std::vector<double>{0, 1}));
  for (const char* name : {"inputs.json", "list.json"}) {
    const auto alone = read_examples(folder / name);
    ASSERT_TRUE(alone) << alone.error().text();
    EXPECT_FALSE(alone->has_targets) << name;
    EXPECT_EQ(alone->inputs.shape, Shape::of({1, 2})) << name;
  }
  const auto bad = read_examples(folder / "bad.json");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().text().find("bad.json: /targets"), std::string::npos) << bad.error().text();
}

TEST(TensorFile, archives_of_numpy_hold_inputs_and_targets_by_name) {
  const auto both = read_examples(test::source_path("tests/golden/npy/two.npz"));
  ASSERT_TRUE(both) << both.error().text();
  EXPECT_TRUE(both->has_targets);
  const auto inputs = read_examples(test::source_path("tests/golden/data/pair.npz"));  // x and t
  ASSERT_TRUE(inputs) << inputs.error().text();
  EXPECT_FALSE(inputs->has_targets);
  EXPECT_EQ(inputs->inputs.shape, Shape::of({5, 6}));
}

// NumPy wrote the arrays, and the content decides under every name.
TEST(TensorFile, TheContentDecidesUnderEveryName) {
  const test::TempFolder folder;
  const std::string golden = test::source_path("tests/golden/npy/");
  const std::string idx(
      "\0\0\x0c\x02\0\0\0\x02\0\0\0\x03"  // int32 [2, 3]
      "\0\0\0\x01\0\0\x01\0\xff\xff\xff\xff\0\0\0\0\x7f\xff\xff\xff\0\0\0\x05",
      36);
  struct Case {
    std::string bytes;
    Shape shape;
    std::vector<double> values;
  };
  const Case cases[] = {
      {test::read_all(golden + "f4.npy"), Shape::of({2, 3}), {-1, -0.5, 0, 0.5, 1, 1.5}},
      {"[[1, 2.5, -3], [4, 5, 6]]", Shape::of({2, 3}), {1, 2.5, -3, 4, 5, 6}},
      {idx, Shape::of({2, 3}), {1, 256, -1, 0, 2147483647, 5}},
      {"1,2.5\n-3,4e2\n", Shape::of({2, 2}), {1, 2.5, -3, 400}},
      {"a;b\r\n1;2\r\n3;4\r\n", Shape::of({2, 2}), {1, 2, 3, 4}},
      {"\"left\"\tright\n1\t2\n", Shape::of({1, 2}), {1, 2}},
      {"1\n2\n3\n", Shape::of({3, 1}), {1, 2, 3}},
  };
  for (const Case& c : cases)
    for (const char* name : {"none", "x.npy", "x.npz", "x.csv", "x.idx", "x.bin"}) {
      const bool is_table = c.shape.rank() == 2 && c.bytes.find_first_of("[\x93") != 0 && c.bytes[0] != '\0';
      if (is_table && std::string_view(name).starts_with("x.np")) continue;  // begins like no format: the name decides
      SCOPED_TRACE(c.bytes.substr(0, 12) + " as " + name);
      test::write_all(folder / name, c.bytes);
      const auto read = read_tensor(folder / name);
      ASSERT_TRUE(read) << read.error().text();
      EXPECT_EQ(read->shape, c.shape);
      EXPECT_EQ(read->values, c.values);
      const auto examples = read_examples(folder / name);
      ASSERT_TRUE(examples) << examples.error().text();
      EXPECT_EQ(examples->inputs.values, c.values);
    }
  test::write_all(folder / "x.json", test::read_all(golden + "two.npz"));
  const auto both = read_examples(folder / "x.json");
  ASSERT_TRUE(both) << both.error().text();
  EXPECT_TRUE(both->has_targets);
}

TEST(TensorFile, BrokenTablesNameTheLine) {
  const test::TempFolder folder;
  const std::pair<const char*, const char*> cases[] = {{"1,2\n3\n", "line 2"},
                                                       {"1,2,3\n3,four,5\n", "line 2: expected numbers, got \"four\""},
                                                       {"a,b\n", "a table of numbers"},
                                                       {"Once upon a time", "a table of numbers"}};
  for (const auto& [text, expected] : cases) {
    test::write_all(folder / "x.csv", text);
    const auto x = read_tensor(folder / "x.csv");
    ASSERT_FALSE(x) << text;
    EXPECT_NE(x.error().text().find(expected), std::string::npos) << x.error().text();
    EXPECT_NE(x.error().text().find("x.csv"), std::string::npos) << x.error().text();
  }
}

}  // namespace
}  // namespace loom::host_tensor_file_test
