#include "data/csv/csv.h"

namespace loom {
namespace {

constexpr std::size_t kMaxFields = std::size_t{1} << 20;

}  // namespace

CsvParser::CsvParser(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {
  if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
}

bool CsvParser::at_line_end() const {
  return at_ == text_.size() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
}

// Reads a field from after its opening quote up to and including the closing one.
Result<void> CsvParser::read_quoted(std::string& field, std::size_t column) {
  const std::size_t opened = line_;
  for (;;) {
    const std::size_t quote = text_.find('"', at_);
    if (quote == text_.npos)
      return fail(Code::CorruptData, "line {}, column {}: a quoted field has no end", opened, column);
    for (const char c : text_.substr(at_, quote - at_)) line_ += c == '\n';
    field.append(text_, at_, quote - at_);
    at_ = quote + 1;
    if (at_ == text_.size() || text_[at_] != '"') return {};
    field += '"';
    ++at_;
  }
}

Result<void> CsvParser::read_field(std::string& field, std::size_t column) {
  field.clear();
  if (at_ < text_.size() && text_[at_] == '"') {
    ++at_;
    LOOM_TRY_VOID(read_quoted(field, column));
    if (!at_line_end() && text_[at_] != delimiter_)
      return fail(Code::CorruptData,
                  "line {}, column {}: text after the closing quote, expected a delimiter or the end of the line",
                  line_, column);
    return {};
  }
  const std::size_t begin = at_;
  for (; !at_line_end() && text_[at_] != delimiter_; ++at_) {
    if (text_[at_] == '"')
      return fail(
          Code::CorruptData,
          "line {}, column {}: a quote inside a field that is not quoted; such a field is quoted and the quote doubled",
          line_, column);
    if (text_[at_] == '\r')
      return fail(Code::CorruptData, "line {}, column {}: a carriage return without a line feed", line_, column);
  }
  field.assign(text_, begin, at_ - begin);
  return {};
}

Result<bool> CsvParser::next(std::vector<std::string>& fields) {
  const auto end_line = [&] {
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size()) ++at_, ++line_;
  };
  while (at_ < text_.size() && at_line_end()) end_line();
  if (at_ == text_.size()) return false;
  record_line_ = line_;
  std::size_t count = 0;
  for (;; ++at_) {
    if (count == kMaxFields) return fail(Code::LimitExceeded, "line {}: more than {} fields", record_line_, kMaxFields);
    if (count == fields.size()) fields.emplace_back();
    LOOM_TRY_VOID(read_field(fields[count], count + 1));
    ++count;
    if (at_line_end()) break;
  }
  fields.resize(count);
  end_line();
  return true;
}

}  // namespace loom
