#include <algorithm>
#include <cmath>
#include <map>

#include "core/nearest.h"
#include "data/array_dataset.h"
#include "data/csv/csv.h"
#include "data/source.h"
#include "dtypes/float16.h"

namespace loom {
namespace {

// The numbers of a table, kept for as long as the data set lives.
struct Table {
  std::vector<float> inputs, values;
  std::vector<std::int32_t> labels;
};

class TableReader {
 public:
  TableReader(std::string_view text, const CsvOptions& options) : parser_(text, options.delimiter), options_(options) {}

  Result<void> read(Table& table) {
    std::vector<std::string> fields;
    if (options_.header) {
      LOOM_TRY(const bool any, parser_.next(fields));
      if (!any) return fail(Code::CorruptData, "line 1: no records, expected a header");
      header_ = fields;
    } else if (!options_.target_column.empty()) {
      return fail(Code::InvalidConfig, "a target column by name (\"{}\") needs a header",
                  printable(options_.target_column));
    }
    for (const std::string& name : options_.class_names)
      if (!ids_.emplace(name, static_cast<std::int32_t>(ids_.size())).second)
        return fail(Code::InvalidConfig, "the class name \"{}\" is given twice", printable(name));
    class_names_ = options_.class_names;
    for (;;) {
      LOOM_TRY(const bool more, parser_.next(fields));
      if (!more) break;
      LOOM_TRY_VOID(add(fields, table));
    }
    if (columns_ == 0) return fail(Code::CorruptData, "line {}: no records with samples", parser_.line());
    return {};
  }
  std::size_t columns() const { return columns_; }
  std::vector<std::string>& class_names() { return class_names_; }
  std::vector<std::string> input_names() const {
    std::vector<std::string> names = header_;
    if (!names.empty()) names.erase(names.begin() + static_cast<std::ptrdiff_t>(target_));
    return names;
  }

 private:
  std::string place(std::size_t column) const {
    const std::string name = column < header_.size() ? fmt::format(" ({})", printable(header_[column])) : "";
    return fmt::format("line {}, column {}{}", parser_.line(), column + 1, name);
  }

  Result<void> find_target(std::size_t columns) {
    columns_ = columns;
    if (columns < 2)
      return fail(Code::ShapeMismatch, "line {}: {} column, expected inputs and a target", parser_.line(), columns);
    if (!options_.target_column.empty()) {
      const auto found = std::ranges::find(header_, options_.target_column);
      const std::vector<std::string_view> known(header_.begin(), header_.end());
      if (found == header_.end())
        return fail(Code::UnknownName, "no column \"{}\"; the nearest: {}", printable(options_.target_column),
                    nearest_names(options_.target_column, known));
      target_ = static_cast<std::size_t>(found - header_.begin());
      return {};
    }
    const auto n = static_cast<std::int64_t>(columns), index = std::int64_t{options_.target_index};
    if (index >= n || index < -n)
      return fail(Code::IndexOutOfRange, "target column {}, expected {} to {}", index, -n, n - 1);
    target_ = static_cast<std::size_t>(index < 0 ? index + n : index);
    return {};
  }

  Result<float> number(const std::string& field, std::size_t column) const {
    const auto value = parse_number(field);
    if (!value) return fail(Code::CorruptData, "{}: \"{}\", expected a number", place(column), printable(field));
    const auto narrow = static_cast<float>(*value);
    if (!std::isfinite(narrow)) return fail(Code::NonFinite, "{}: {} is beyond f32", place(column), printable(field));
    return snapped(narrow);
  }

  Result<std::int32_t> label(const std::string& field) {
    if (options_.class_ids) {
      const auto id = parse_number(field);
      const std::size_t limit = class_names_.empty() ? kMaxClasses : class_names_.size();
      if (id && options_.ignored && *id == static_cast<double>(*options_.ignored))
        return static_cast<std::int32_t>(*options_.ignored);
      if (!id || *id < 0 || *id >= static_cast<double>(limit) || *id != std::floor(*id))
        return fail(Code::OutOfRange, "{}: \"{}\", expected a class id from 0 to {}", place(target_), printable(field),
                    limit - 1);
      return static_cast<std::int32_t>(*id);
    }
    const auto known = ids_.find(field);
    if (known != ids_.end()) return known->second;
    if (!options_.class_names.empty())
      return fail(Code::UnknownName, "{}: class \"{}\" is none of the {} that were given", place(target_),
                  printable(field), class_names_.size());
    if (field.empty()) return fail(Code::CorruptData, "{}: empty, expected the name of a class", place(target_));
    if (class_names_.size() == kMaxClasses)
      return fail(Code::LimitExceeded, "{}: more than {} classes", place(target_), kMaxClasses);
    class_names_.push_back(field);
    return ids_.emplace(field, static_cast<std::int32_t>(ids_.size())).first->second;
  }

  Result<void> add(const std::vector<std::string>& fields, Table& table) {
    if (columns_ == 0) LOOM_TRY_VOID(find_target(options_.header ? header_.size() : fields.size()));
    if (fields.size() != columns_)
      return fail(Code::ShapeMismatch, "line {}: {} fields, expected {}", parser_.line(), fields.size(), columns_);
    for (std::size_t c = 0; c < columns_; ++c) {
      if (c == target_ && options_.targets == TargetKind::classes) {
        LOOM_TRY(const std::int32_t id, label(fields[c]));
        table.labels.push_back(id);
        continue;
      }
      LOOM_TRY(const float value, number(fields[c], c));
      (c == target_ ? table.values : table.inputs).push_back(value);
    }
    return {};
  }

  CsvParser parser_;
  const CsvOptions& options_;
  std::vector<std::string> header_, class_names_;
  std::map<std::string, std::int32_t> ids_;
  std::size_t columns_ = 0, target_ = 0;
};

}  // namespace

Result<std::unique_ptr<Dataset>> parse_csv(std::string_view text, const std::string& name, const Digest& sha256,
                                           const CsvOptions& options) {
  if (options.delimiter == '"' || options.delimiter == '\n' || options.delimiter == '\r')
    return fail(Code::InvalidConfig, "{}: a quote or a line end cannot be the delimiter", name);
  auto table = std::make_shared<Table>();
  TableReader reader(text, options);
  if (auto done = reader.read(*table); !done) return at(name, std::move(done).error());
  const std::size_t inputs = reader.columns() - 1, samples = table->inputs.size() / inputs;
  // The elements are in the host's own order.
  const bool big = std::endian::native == std::endian::big, classes = options.targets == TargetKind::classes;
  RawArray x{name, DType::float32, big, {samples, inputs}, std::as_bytes(std::span(table->inputs)), table};
  RawArray t{name,
             classes ? DType::int32 : DType::float32,
             big,
             {samples},
             classes ? std::as_bytes(std::span(table->labels)) : std::as_bytes(std::span(table->values)),
             table};
  return dataset_of(std::move(x), std::move(t), sha256,
                    {.targets = options.targets,
                     .classes = 0,
                     .ignored = options.ignored,
                     .class_names = reader.class_names(),
                     .columns = reader.input_names(),
                     .input = options.input});
}

Result<std::unique_ptr<Dataset>> open_csv(const std::string& path, const CsvOptions& options) {
  LOOM_TRY(const Source source, open_source(path));
  const std::string_view text(reinterpret_cast<const char*>(source.bytes.data()), source.bytes.size());
  return parse_csv(text, path, sha256_of({source.stored}), options);
}

}  // namespace loom
