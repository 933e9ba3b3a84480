// One reader, one writer, one schema of whatever a config visits.

#include <gtest/gtest.h>

#include "core/config_reader.h"
#include "core/config_writer.h"

namespace loom::config_test {
namespace {

enum class Colour : std::uint8_t { Red, Green, None };

struct Item {
  std::size_t size = 2;
  void fields(ConfigVisitor& visit) { visit("size", size, {1, 9}); }
};

struct Settings {
  bool on = false;
  double rate = 0.5;
  std::uint32_t steps = 3;
  float gain = 0.25f;
  std::optional<double> limit;
  std::optional<std::int64_t> index;
  std::string name = "a";
  Colour colour = Colour::Red;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::vector<std::size_t> sizes;
  std::vector<Item> items;
  std::string inner = "x";

  void fields(ConfigVisitor& visit) {
    visit({"on", "Whether"}, on);
    visit({"rate", "A share"}, rate, {0, 1});
    visit({"steps|num_steps", "How many"}, steps, {1, 65536});
    visit({"gain", "A factor"}, gain);
    visit({"limit", "At most"}, limit, kNotNegative);
    visit({"index", "Which"}, index);
    visit({"name", "A name"}, name);
    visit.choice({"colour", "A colour"}, colour, {"red|rouge", "green", ""});
    visit({"numbers", "Numbers"}, numbers);
    visit({"texts", "Texts"}, texts);
    visit({"sizes", "Sizes"}, sizes, {1, 8});
    visit.objects("items", items);
    visit.object({"inner", "An object"}, [this](ConfigVisitor& v) { v({"key", "Inside"}, inner); }, "key");
  }
};

Result<Settings> read(const char* text, Steps place = {}) {
  Settings s;
  LOOM_TRY_VOID(
      read_config(parse_json(text).value(), [&](ConfigVisitor& visit) { s.fields(visit); }, std::move(place)));
  return s;
}

std::string refusal(const char* text, Steps place = {}) {
  const auto s = read(text, std::move(place));
  return s ? "" : s.error().text();
}

TEST(Config, every_kind_of_field_is_read) {
  const auto s = read(
      R"({"on":true,"rate":1,"num_steps":7,"gain":2,"limit":4,"index":-3,"name":"b","colour":"GREEN","numbers":[1,2.5],"texts":["t"],"sizes":[8],
                          "items":[{},{"size":9}],"inner":{"key":"y"}})");
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_TRUE(s->on && s->rate == 1 && s->steps == 7 && s->gain == 2 && s->limit == 4.0 && s->index == -3 &&
              s->name == "b" && s->colour == Colour::Green);
  EXPECT_TRUE(s->numbers == std::vector<double>({1, 2.5}) && s->texts == std::vector<std::string>{"t"} &&
              s->sizes == std::vector<std::size_t>{8});
  EXPECT_TRUE(s->items.size() == 2 && s->items[0].size == 2 && s->items[1].size == 9 && s->inner == "y");
  EXPECT_EQ(read(R"({"colour":""})")->colour, Colour::None);
  EXPECT_EQ(read(R"({"inner":"z"})")->inner, "z");  // the name alone
  EXPECT_EQ(read(R"({"limit":null,"index":null})")->limit, std::nullopt);
}

TEST(Config, complaints_say_where_what_was_expected_and_what_came) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"on":1})", "/on: expected true or false, got 1"},
      {R"({"rate":2})", "/rate: expected a number from 0 to 1, got 2"},
      {R"({"steps":"many"})", "/steps: expected an integer from 1 to 65536, got \"many\""},
      {R"({"num_steps":0})", "/num_steps: expected an integer from 1 to 65536, got 0"},
      {R"({"steps":1,"num_steps":1})", "/num_steps: given beside \"steps\", which means the same"},
      {R"({"limit":-1})", "/limit: expected a number of at least 0, got -1"},
      {R"({"index":"x"})", "/index: expected an integer, got \"x\""},
      {R"({"name":[]})", "/name: expected a string, got []"},
      {R"({"colour":"gren"})", "/colour: \"gren\" is unknown; nearest: green, red, rouge"},
      {R"({"numbers":3})", "/numbers: expected a list of numbers, got 3"},
      {R"({"numbers":[1,"x"]})", "/numbers/1: expected a finite number, got \"x\""},
      {R"({"sizes":[1,9]})", "/sizes/1: expected an integer from 1 to 8, got 9"},
      {R"({"items":[{"size":0}]})", "/items/0/size: expected an integer from 1 to 9, got 0"},
      {R"({"items":[7]})", "/items/0: expected an object, got 7"},
      {R"({"inner":7})", "/inner: expected a name or an object, got 7"},
      {R"({"inner":{"kex":1}})", "/inner/kex: unknown key; nearest: key"},
      {R"({"a/b~":1})", "/a~1b~0: unknown key; nearest: on, rate, gain"},
      {R"([])", "expected an object, got []"},
      {R"({"on":1,"rate":2})", "/on: expected true or false, got 1; /rate: expected a number from 0 to 1, got 2"}};
  for (const auto& [text, message] : cases) EXPECT_EQ(refusal(text), message);
  EXPECT_EQ(refusal(R"({"on":1})", {"a", "0"}), "/a/0/on: expected true or false, got 1");
}

TEST(Config, a_place_grows_from_the_inside_out) {
  Error error{Code::InvalidConfig, "expected 1, got 2", Steps{"key"}};
  error.under({"layers", "3"});
  EXPECT_EQ(error.place.steps(), (Steps{"layers", "3", "key"}));
  error.in_source("net.json");
  EXPECT_EQ(error.text(), "net.json: /layers/3/key: expected 1, got 2");
  const Error copy = error;
  error.under({"network"}).in_source("train.json");
  EXPECT_EQ(error.text(), "train.json: /network: net.json: /layers/3/key: expected 1, got 2");
  EXPECT_EQ(copy.text(), "net.json: /layers/3/key: expected 1, got 2");
  EXPECT_EQ(path_steps("layers.3.base_layer"), (Steps{"layers", "3", "base_layer"}));
  EXPECT_EQ(Error({Code::InvalidConfig, "alone"}).text(), "alone");
}

TEST(Config, what_is_written_reads_back_and_the_schema_has_every_key) {
  Settings s = read(R"({"steps":9,"colour":"green","limit":4,"items":[{"size":5},{}],"inner":"q"})").value();
  const Json written = written_config([&](ConfigVisitor& visit) { s.fields(visit); });
  EXPECT_EQ(dump_json(written["items"]), R"([{"size":5},{}])");
  EXPECT_EQ(written["colour"], "green");
  Settings again;
  ASSERT_TRUE(read_config(written, [&](ConfigVisitor& visit) { again.fields(visit); }));
  EXPECT_EQ(written_config([&](ConfigVisitor& visit) { again.fields(visit); }), written);
  Settings fresh;
  const Json schema = object_schema([&](ConfigVisitor& visit) { fresh.fields(visit); });
  const std::vector<KeyRow> rows = key_rows(schema);
  const auto row = [&](std::string_view key) {
    const auto found = std::ranges::find(rows, key, &KeyRow::key);
    return found == rows.end() ? "" : found->standard + " " + found->help;
  };
  EXPECT_EQ(row("rate"), "0.5 A share");
  EXPECT_EQ(row("limit"), "- At most");
  EXPECT_EQ(row("inner.key"), "\"x\" Inside");
  EXPECT_EQ(dump_json(schema["properties"]["colour"]["enum"]), R"(["red","rouge","green",""])");
  EXPECT_EQ(schema["properties"]["num_steps"]["maximum"], 65536);
  EXPECT_EQ(schema["properties"]["num_steps"]["title"], "steps");
  EXPECT_EQ(row("num_steps"), "");
  EXPECT_EQ(std::ranges::find(rows, "steps", &KeyRow::key)->aliases, std::vector<std::string>{"num_steps"});
  EXPECT_EQ(row("items.size"), "2 ");
}

// A value that the key refuses says that the reader asks for the key; the schema gives no default for it.
TEST(Config, a_required_key_has_no_default) {
  std::size_t size = 0;
  const auto fields = [&](ConfigVisitor& visit) { visit({"size", "At least 1"}, size, {1, 9}); };
  EXPECT_EQ(read_config(parse_json("{}").value(), fields).error().text(), "/size: is missing");
  // Every one of several complaints gets the place of the object.
  const auto two = [](ConfigVisitor& visit) {
    std::size_t a = 0, b = 0;
    visit({"a"}, a, kOneOrMore), visit({"b"}, b, kOneOrMore);
  };
  Error both = read_config(parse_json("{}").value(), two).error();
  EXPECT_EQ(both.under({"network", "0"}).text(), "/network/0/a: is missing; /network/0/b: is missing");
  EXPECT_EQ(both.in_source("c.json").text(), "c.json: /network/0/a: is missing; /network/0/b: is missing");
  const auto aliased = [](ConfigVisitor& visit) {
    std::size_t width = 0;
    visit({"input_height|input_size|in_features"}, width, kOneOrMore);
  };
  EXPECT_EQ(read_config(parse_json("{}").value(), aliased).error().text(), "/in_features: is missing");
  EXPECT_EQ(key_rows(object_schema(fields))[0].standard, "-");
  size = 2;
  EXPECT_EQ(key_rows(object_schema(fields))[0].standard, "2");
}

}  // namespace
}  // namespace loom::config_test
