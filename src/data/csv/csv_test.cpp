#include "data/csv/csv.h"

#include "data/data_test.h"

namespace loom {
namespace {

Result<std::unique_ptr<Dataset>> parse(std::string_view text, const CsvOptions& options = {}) {
  return parse_csv(text, "t.csv", Digest{}, options);
}

TEST(Csv, records_are_those_of_pythons_csv) {  // F-01
  const auto bytes = bytes_of_file(golden_data("quoted.csv"));
  CsvParser parser({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, ',');
  std::vector<std::string> fields;
  for (const auto& record : expected_data()["csv"]["records"]) {
    ASSERT_TRUE(parser.next(fields).value());
    EXPECT_EQ(fields, record.get<std::vector<std::string>>());
  }
  EXPECT_FALSE(parser.next(fields).value());
}

TEST(Csv, classes_get_ids_in_order_of_first_appearance) {  // T-42
  const auto set = open_csv(golden_data("quoted.csv"));
  ASSERT_TRUE(set) << set.error().text();
  const auto& expected = expected_data()["csv"];
  EXPECT_EQ((*set)->info().class_names, expected["classes"].get<std::vector<std::string>>());
  EXPECT_EQ((*set)->info().classes, 3u);
  const auto read = read_all(**set);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->labels, expected["labels"].get<std::vector<std::int32_t>>());
  EXPECT_EQ(read->inputs, expected["inputs"].get<std::vector<float>>());
}

TEST(Csv, delimiter_mark_blank_lines_and_columns) {  // F-01
  const auto set = open_csv(golden_data("table.csv"),
                            {.header = false, .delimiter = ';', .target_index = 0, .targets = TargetKind::values});
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_EQ(read_all(**set)->values, (std::vector<float>{3, -1, 7}));
  EXPECT_EQ(read_all(**set)->inputs, (std::vector<float>{1, 2, 0.5f, 4, 8, 9}));
  const auto named = parse("x,class,y\n1,b,2\n3,a,4\n",
                           {.target_column = "class", .class_names = {"a", "b"}, .input = Shape::of({2, 1})});
  ASSERT_TRUE(named) << named.error().text();
  EXPECT_EQ(read_all(**named)->labels, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ((*named)->info().input, Shape::of({2, 1}));
  const auto ids = parse("1,7\n2,0\n", {.header = false, .class_ids = true});
  ASSERT_TRUE(ids);
  EXPECT_EQ((*ids)->info().classes, 8u);
}

TEST(Csv, errors_name_line_column_and_what_was_expected) {  // T-42
  expect_error(parse("x,y\n1,a\nred,b\n"), Code::CorruptData, {"t.csv", "line 3, column 1 (x)", "\"red\"", "a number"});
  expect_error(parse("x,y\n1,a\n1e39,b\n"), Code::NonFinite, {"line 3, column 1 (x)", "1e39"});
  expect_error(parse("x,y\n1,a\nnan,b\n"), Code::CorruptData, {"line 3"});
  expect_error(parse("x,y\n1,a\n2\n"), Code::ShapeMismatch, {"line 3", "1 fields, expected 2"});
  expect_error(parse("x,y\n1,\n"), Code::CorruptData, {"line 2, column 2 (y)"});
  expect_error(parse("x,y\n\"1\n2,a\n"), Code::CorruptData, {"line 2, column 1", "no end"});
  expect_error(parse("x,y\n\"1\"2,a\n"), Code::CorruptData, {"line 2, column 1", "closing quote"});
  expect_error(parse("x,y\n1\"2,a\n"), Code::CorruptData, {"line 2, column 1", "quote"});
  expect_error(parse("x,y\n1,a\r3,b\n"), Code::CorruptData, {"line 2, column 2", "carriage return"});
  expect_error(parse("x,y\n\"1\n\",a\n"), Code::CorruptData, {"line 2"});
  expect_error(parse("x,y\n1,a\n", {.target_column = "z"}), Code::UnknownName, {"\"z\""});
  expect_error(parse("x,y\n1,a\n", {.target_index = 2}), Code::IndexOutOfRange, {"-2 to 1"});
  expect_error(parse("1,a\n", {.header = false, .target_column = "y"}), Code::InvalidConfig, {"needs a header"});
  expect_error(parse("x,y\n1,c\n", {.class_names = {"a", "b"}}), Code::UnknownName, {"line 2", "\"c\""});
  expect_error(parse("x,y\n1,1.5\n", {.class_ids = true}), Code::OutOfRange, {"line 2, column 2 (y)", "\"1.5\""});
  expect_error(parse("x,y\n1,-1\n", {.class_ids = true}), Code::OutOfRange, {"\"-1\""});
  for (const char* empty : {"", "\n\n", "x,y\n", "x\n1\n"}) EXPECT_FALSE(parse(empty)) << empty;
}

TEST(Csv, numbers_are_rounded_to_nearest_whatever_their_spelling) {  // F-01
  const std::pair<const char*, double> cases[] = {
      {"0", 0},
      {"-1.5", -1.5},
      {"+.5", 0.5},
      {"5.", 5},
      {" 7\t", 7},
      {"1e22", 1e22},
      {"1e23", 1e23},
      {"0.1", 0.1},
      {"1E-5", 1e-5},
      {"007", 7},
      {"1e-400", 0},
      {"4.9e-324", 4.9e-324},
      {"9007199254740993", 9007199254740992.0},
      {"179769313486231570000000000e282", 1.7976931348623157e308},
      {"0.30000000000000004", 0.30000000000000004},
      {".00000000000000000000000000012345678901234567", 1.2345678901234567e-28}};
  for (const auto& [text, value] : cases) EXPECT_EQ(parse_number(text), value) << text;
  for (const char* bad : {"", " ", "-", ".", "e5", "1e", "1e+", "0x10", "1,5", "1 2", "inf", "NaN", "1e400",
                          "1e999999999999", "--1", "1.2.3"})
    EXPECT_FALSE(parse_number(bad)) << bad;
}

TEST(Csv, no_prefix_and_no_changed_byte_does_harm) {  // F-01
  const auto bytes = bytes_of_file(golden_data("quoted.csv"));
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto bounded = [](const std::string& s) {
    const std::size_t before = allocated_bytes();
    (void)parse(s);
    EXPECT_LE(allocated_bytes() - before, 64 * s.size() + (std::size_t{1} << 16));
  };
  for (std::size_t n = 0; n <= text.size(); ++n) bounded(text.substr(0, n));
  for (std::size_t i = 0; i < text.size(); ++i)
    for (const char c : {'"', ',', '\n', '\r', '\0', '\xff'}) {
      std::string bad = text;
      bad[i] = c;
      bounded(bad);
    }
}

TEST(Csv, iris_and_mnist_read_whole) {  // T-42
  const auto iris = open_csv(data_path("data/sklearn/iris.csv"), {.class_ids = true});
  ASSERT_TRUE(iris) << iris.error().text();
  EXPECT_EQ((*iris)->info().samples, 150u);
  EXPECT_EQ((*iris)->info().input, Shape::of({4}));
  EXPECT_EQ((*iris)->info().classes, 3u);
  const auto mnist =
      open_csv(data_path("data/mnist_5k.csv.gz"), {.header = false, .class_ids = true, .input = Shape::of({28, 28})});
  ASSERT_TRUE(mnist) << mnist.error().text();
  EXPECT_EQ((*mnist)->info().samples, 5000u);
  EXPECT_EQ((*mnist)->info().classes, 10u);
}

}  // namespace
}  // namespace loom
