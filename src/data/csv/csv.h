#pragma once
// Tables of text (RFC 4180): records of fields, quoted where they hold delimiters, quotes or line ends. Lines end with
// CRLF or LF; blank lines are skipped, and a UTF-8 byte order mark in front.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace loom {

// One record after the other.
class CsvParser {
 public:
  CsvParser(std::string_view text, char delimiter);
  // Fills `fields`; false at the end. CorruptData with line and column; LimitExceeded beyond 2^20 fields in a record.
  Result<bool> next(std::vector<std::string>& fields);
  std::size_t line() const { return record_line_; }  // on which the last record began, from 1

 private:
  Result<void> read_quoted(std::string& field, std::size_t column);
  Result<void> read_field(std::string& field, std::size_t column);
  bool at_line_end() const;
  std::string_view text_;
  char delimiter_;
  std::size_t at_ = 0, line_ = 1, record_line_ = 1;
};

struct CsvOptions {
  bool header = true;  // the first record names the columns
  char delimiter = ',';
  std::string target_column = {};  // by name, needs a header; empty: by index
  int target_index = -1;           // from 0; negative from the end
  TargetKind targets = TargetKind::classes;
  // the column holds ids, not names; names get ids in the order in which they first appear
  bool class_ids = false;
  std::optional<std::int64_t> ignored = {};   // an id that may be outside of the classes: its rows do not count
  std::vector<std::string> class_names = {};  // given: ids in this order, others are errors
  std::optional<Shape> input = {};            // another shape for a sample; otherwise [columns - 1]
};

// All columns but the target are numbers. CorruptData, NonFinite, OutOfRange with line, column and what was expected;
// UnknownName for a column or class that does not exist; ShapeMismatch for a record of another length; Unsupported for
// gzip'd files without zlib.
Result<std::unique_ptr<Dataset>> parse_csv(std::string_view text, const std::string& name, const Digest& sha256,
                                           const CsvOptions& options = {});
Result<std::unique_ptr<Dataset>> open_csv(const std::string& path, const CsvOptions& options = {});

// A decimal number, spaces around it allowed, to the nearest f64 whatever the locale says; nothing for other text and
// beyond f64.
std::optional<double> parse_number(std::string_view text);

}  // namespace loom
