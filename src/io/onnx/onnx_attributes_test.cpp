// Every attribute that an operation knows is read: in some case of nodes.bin or graphs.bin another value gives another
// answer or an error. Attributes that change nothing are declared below, with the reason.

#include <cstring>
#include <map>
#include <set>

#include "io/hostile_test.h"
#include "io/onnx/onnx_cases_test.h"
#include "support/paths.h"

namespace loom::onnx_attributes_test {
namespace {

using graph::Attribute;
using graph::Value;
using onnx_cases::NodeCase;

constexpr struct {
  std::string_view op, attribute, why;
} kWithoutEffect[] = {
    {"BatchNormalization", "momentum", "updates running figures in training, which is refused"},
    {"Cast", "round_mode", "rounds to float8e8m0, which is refused"},
    {"CastLike", "round_mode", "rounds to float8e8m0, which is refused"},
    {"Dropout", "ratio", "nothing is dropped in inference"},
    {"Dropout", "seed", "nothing is dropped in inference"},
    {"GroupNormalization", "stash_type", "means and variances are computed in f64, more exactly than it asks for"},
    {"LayerNormalization", "stash_type", "means and variances are computed in f64, more exactly than it asks for"},
    {"RMSNormalization", "stash_type", "means and variances are computed in f64, more exactly than it asks for"},
    {"Range", "stash_type", "elements are computed in the type of the store, at least as exactly as it asks for"},
    {"TopK", "sorted", "elements are sorted in any case, which 0 allows"},
};

bool is_declared(std::string_view op, std::string_view attribute) {
  for (const auto& row : kWithoutEffect)
    if (row.op == op && row.attribute == attribute) return true;
  return false;
}

// The bytes of an answer, or the text of its error.
std::string answer(const NodeCase& c, const std::shared_ptr<ThreadPool>& pool, const onnx_cases::Change& change) {
  const auto outputs = onnx_cases::answer_of(c, pool, std::uint64_t{1} << 26, change);
  if (!outputs) return "error " + outputs.error().text();
  std::string text;
  for (const Value& value : *outputs) {
    text += graph::text_of(value.dims) + graph::name_of(value.type);
    if (value.bytes() != 0) text.append(static_cast<const char*>(value.data), value.bytes());
  }
  return text;
}

// Other values of an attribute of that kind; `now`: the present one, if there is one.
std::vector<Attribute> other_values(const graph::KnownAttribute& known, const Attribute* now) {
  std::vector<Attribute> values;
  const auto add = [&](auto&& fill) {
    values.emplace_back();
    fill(values.back());
  };
  const auto lists = [&](auto&& fill) {
    for (std::size_t n = 1; n <= 8; ++n)
      for (const int v : {1, 0, 2}) add([&](Attribute& a) { fill(a, n, v); });
  };
  if (known.kind == "i")
    for (const std::int64_t v : {0, 1, 2, 3, -1, 10, 40})
      add([&](Attribute& a) { a.kind = Attribute::Kind::integer, a.integer = v; });
  if (known.kind == "f")
    for (const double v : {0.3, 2.5, 0.0, -1.0, 100.0})
      add([&](Attribute& a) { a.kind = Attribute::Kind::number, a.number = v; });
  if (known.kind == "s")
    for (const std::string& v : known.choices.empty() ? std::vector<std::string>{"ij->ji"} : known.choices)
      add([&](Attribute& a) { a.kind = Attribute::Kind::text, a.text = v; });
  if (known.kind == "ints")
    lists([](Attribute& a, std::size_t n, int v) {
      a.kind = Attribute::Kind::integers;
      a.integers.assign(n, v);
    });
  if (known.kind == "ints" && now != nullptr)
    for (const std::int64_t more : {1, -1})
      add([&](Attribute& a) {
        a = *now;
        for (std::int64_t& v : a.integers) v += more;
      });
  if (known.kind == "floats")
    lists([](Attribute& a, std::size_t n, int v) {
      a.kind = Attribute::Kind::numbers;
      a.numbers.assign(n, v + 0.5);
    });
  if (known.kind == "strings")
    lists([](Attribute& a, std::size_t n, int) {
      a.kind = Attribute::Kind::texts;
      a.texts.assign(n, "Softsign");
    });
  if (known.kind == "t")
    add([](Attribute& a) {
      a.kind = Attribute::Kind::tensor, a.tensor = Value::create(graph::Type::f32, {1}).value();
      *a.tensor.as<float>() = 7;
    });
  return values;
}

// Sets the attribute of all nodes of the operation, or removes it; alone: without its other attributes.
void set(graph::Body& body, std::string_view op, const std::string& key, const Attribute* value, bool alone) {
  for (graph::Node& node : body.nodes) {
    if (node.op != op && node.domain + "." + node.op != op) continue;
    std::erase_if(node.attributes, [&](const auto& pair) { return alone || pair.first == key; });
    if (value != nullptr) node.attributes.emplace_back(key, *value);
  }
}

// Attributes without which others of the operation have no effect: the pads that a value fills.
std::vector<Attribute> companions(std::string_view op, const std::string& key) {
  std::vector<Attribute> values(1);  // none
  for (std::size_t n = 2; op == "Pad" && key == "value" && n <= 8; n += 2) {
    values.emplace_back();
    values.back().kind = Attribute::Kind::integers;
    values.back().integers.assign(n, 1);
  }
  return values;
}

// Returns whether another value of the attribute changes the answer of this case.
bool is_read(const NodeCase& c, std::string_view op, const graph::KnownAttribute& known,
             const std::shared_ptr<ThreadPool>& pool) {
  const auto model = parse_onnx(c.model);
  if (!model) return false;
  const Attribute* now = nullptr;
  for (const graph::Node& node : model->body.nodes)
    if (node.op == op && node.find(known.name) != nullptr) now = node.find(known.name);
  for (const Attribute& companion : companions(op, known.name))
    for (const bool alone : {false, true}) {
      const auto with = [&](const Attribute* value) {
        return answer(c, pool, [&](graph::Model& m, auto&) {
          if (known.below != 0) m.opset = known.below - 1;
          set(m.body, op, known.name, value, alone);
          if (!companion.integers.empty()) set(m.body, op, "pads", &companion, false);
        });
      };
      const std::string without = with(nullptr);
      for (const Attribute& value : other_values(known, now))
        if (with(&value) != without) return true;
      if (now != nullptr && with(now) != without) return true;
    }
  return false;
}

// The cases of a file by the operations in them.
void read_cases(const MappedFile& file, std::map<std::string, std::vector<NodeCase>>& cases) {
  ByteReader reader(file.bytes());
  ASSERT_TRUE(onnx_cases::part(reader));
  while (reader.left() != 0) {
    const NodeCase c = onnx_cases::next_case(reader).value();
    const auto model = parse_onnx(c.model);
    if (!model) continue;
    std::set<std::string> ops;
    for (const graph::Node& node : model->body.nodes)
      ops.insert(node.domain.empty() ? node.op : node.domain + "." + node.op);
    for (const std::string& op : ops) cases[op].push_back(c);
  }
}

TEST(OnnxAttributes, each_one_changes_something_or_is_declared_without_effect) {  // F-02
  const auto nodes = MappedFile::open(test::source_path("tests/golden/onnx/nodes.bin")).value(),
             graphs = MappedFile::open(test::source_path("tests/golden/onnx/graphs.bin")).value();
  std::map<std::string, std::vector<NodeCase>> cases;
  read_cases(*nodes, cases), read_cases(*graphs, cases);
  const std::shared_ptr<ThreadPool> pool = ThreadPool::create(1).value();
  std::size_t pairs = 0;
  for (const std::string& op : graph::operations_with_attributes())
    for (const graph::KnownAttribute& known : graph::known_attributes(op)) {
      bool read = false;
      for (const NodeCase& c : cases[op]) read = read || is_read(c, op, known, pool);
      EXPECT_NE(read, is_declared(op, known.name)) << op << " " << known.name << " of " << cases[op].size() << " cases";
      ++pairs;
    }
  EXPECT_GE(pairs, 200u);
  for (const auto& row : kWithoutEffect) EXPECT_FALSE(row.why.empty());
}

}  // namespace
}  // namespace loom::onnx_attributes_test
