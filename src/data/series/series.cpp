#include "data/series/series.h"

#include <algorithm>
#include <cmath>

#include "core/nearest.h"
#include "data/csv/csv.h"
#include "data/source.h"
#include "dtypes/float16.h"

namespace loom {
namespace {

class Series final : public Dataset {
 public:
  Series(DatasetInfo info, std::vector<float> rows, std::size_t columns, const SeriesOptions& options)
      : Dataset(std::move(info)),
        rows_(std::move(rows)),
        columns_(columns),
        length_(options.length),
        stride_(options.stride) {}

 private:
  Result<void> read_sample(std::size_t sample, const SampleBuffers& to) const override {
    const auto from = rows_.begin() + static_cast<std::ptrdiff_t>(sample * stride_ * columns_);
    const auto end = from + static_cast<std::ptrdiff_t>(length_ * columns_);
    std::copy(from, end, to.inputs.begin());
    std::copy(end, end + static_cast<std::ptrdiff_t>(columns_), to.values.begin());
    return {};
  }
  std::vector<float> rows_;  // [rows, columns]
  std::size_t columns_, length_, stride_;
};

// Returns the fields of a record that the options name, in their order.
Result<std::vector<std::size_t>> wanted_columns(const std::vector<std::string>& header, std::size_t fields,
                                                const SeriesOptions& options) {
  std::vector<std::size_t> wanted;
  for (const std::string& name : options.columns) {
    const auto found = std::ranges::find(header, name);
    const std::vector<std::string_view> known(header.begin(), header.end());
    if (found == header.end())
      return fail(Code::UnknownName, "no column \"{}\"; the nearest: {}", printable(name), nearest_names(name, known));
    wanted.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  if (options.columns.empty())
    for (std::size_t c = 0; c < fields; ++c) wanted.push_back(c);
  return wanted;
}

Result<std::vector<float>> read_rows(std::string_view text, const SeriesOptions& options, std::size_t& columns,
                                     std::vector<std::string>& names) {
  CsvParser parser(text, options.delimiter);
  std::vector<std::string> fields, header;
  if (options.header) {
    LOOM_TRY(const bool any, parser.next(header));
    if (!any) return fail(Code::CorruptData, "line 1: no records, expected a header");
  } else if (!options.columns.empty()) {
    return fail(Code::InvalidConfig, "columns by name need a header");
  }
  std::vector<float> rows;
  std::vector<std::size_t> wanted;
  std::size_t count = header.size();
  for (;;) {
    LOOM_TRY(const bool more, parser.next(fields));
    if (!more) break;
    if (count == 0) count = fields.size();
    if (wanted.empty()) {
      LOOM_TRY(wanted, wanted_columns(header, count, options));
    }
    if (fields.size() != count)
      return fail(Code::ShapeMismatch, "line {}: {} fields, expected {}", parser.line(), fields.size(), count);
    for (const std::size_t c : wanted) {
      const std::string place = fmt::format("line {}, column {}{}", parser.line(), c + 1,
                                            c < header.size() ? " (" + printable(header[c]) + ")" : "");
      const auto value = parse_number(fields[c]);
      if (!value) return fail(Code::CorruptData, "{}: \"{}\", expected a number", place, printable(fields[c]));
      const auto narrow = static_cast<float>(*value * options.scale);
      if (!std::isfinite(narrow)) return fail(Code::NonFinite, "{}: {} is beyond f32", place, printable(fields[c]));
      rows.push_back(snapped(narrow));
    }
  }
  columns = wanted.size();
  for (const std::size_t c : wanted)
    if (c < header.size()) names.push_back(header[c]);
  return rows;
}

}  // namespace

Result<std::unique_ptr<Dataset>> parse_series(std::string_view text, const std::string& name, const Digest& sha256,
                                              const SeriesOptions& options) {
  if (options.delimiter == '"' || options.delimiter == '\n' || options.delimiter == '\r')
    return fail(Code::InvalidConfig, "{}: a quote or a line end cannot be the delimiter", name);
  if (!(options.scale > 0 && std::isfinite(options.scale)))
    return fail(Code::InvalidConfig, "{}: scale {}, expected a number above 0", name, options.scale);
  if (options.length == 0 || options.stride == 0)
    return fail(Code::InvalidConfig, "{}: length and stride begin at 1", name);
  std::size_t columns = 0;
  DatasetInfo info;
  auto rows = read_rows(text, options, columns, info.columns);
  if (!rows) return at(name, std::move(rows).error());
  const std::size_t count = columns == 0 ? 0 : rows->size() / columns;
  if (count < options.length + 1)
    return fail(Code::ShapeMismatch, "{}: {} rows, expected at least {} for samples of {} rows and the row after", name,
                count, options.length + 1, options.length);
  info.source = name, info.sha256 = sha256;
  LOOM_TRY(info.input, Shape::create(std::vector<std::size_t>{options.length, columns}));
  LOOM_TRY(info.target, Shape::create(std::vector<std::size_t>{columns}));
  info.samples = (count - options.length - 1) / options.stride + 1;
  if (info.samples > kMaxSamples)
    return fail(Code::LimitExceeded, "{}: {} samples, at most {}", name, info.samples, kMaxSamples);
  info.targets = TargetKind::values;
  return std::unique_ptr<Dataset>(new Series(std::move(info), std::move(*rows), columns, options));
}

Result<std::unique_ptr<Dataset>> open_series(const std::string& path, const SeriesOptions& options) {
  LOOM_TRY(const Source source, open_source(path));
  const std::string_view text(reinterpret_cast<const char*>(source.bytes.data()), source.bytes.size());
  return parse_series(text, path, sha256_of({source.stored}), options);
}

}  // namespace loom
