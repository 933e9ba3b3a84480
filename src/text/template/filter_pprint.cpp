// The filter pprint: Python's pprint.pformat at a width of 80.

#include <algorithm>

#include "text/template/interpreter.h"
#include "text/template/unicode.h"

namespace loom::jinja {
namespace {

constexpr std::size_t kPrettyWidth = 80;

bool is_blank_at(std::string_view text, std::size_t i) { return is_space(decode_at(text, i).value); }

class Pretty {
 public:
  explicit Pretty(Machine& machine) : m_(machine), out_(machine.heap) {}

  // Leaves `room` columns free after the value, which begins at column `indent`; `level` counts the brackets around it.
  Result<void> write(const Value& v, std::size_t indent, std::size_t room, int level) {
    LOOM_TRY_VOID(m_.heap.tick());
    LOOM_TRY_VOID(m_.heap.descend());
    LOOM_TRY(const Value sorted, in_order(v));
    LOOM_TRY(const std::string shown, repr(sorted));
    if (out_.full()) return {};
    const bool fits = count_code_points(shown) + indent + room <= kPrettyWidth;
    if (!fits && v.is(Kind::Dict)) return dict(sorted, indent, room, level + 1);
    if (!fits && is_plain(v)) {
      const bool is_list = v.is(Kind::List);
      return items(v.items(), is_list ? "[" : "(",
                   is_list                 ? "]"
                   : v.items().size() == 1 ? ",)"
                                           : ")",
                   indent, room, level + 1);
    }
    if (!fits && v.is(Kind::String) && !v.text().markup && !v.s().empty()) return text(v, indent, room, level + 1);
    out_.add(shown);
    return {};
  }
  Result<std::string> finish() { return out_.finish(); }

 private:
  // A pair of groupby is not plain: Python prints those as they are.
  static bool is_plain(const Value& v) { return v.sequence() && !v.as<SequenceObject>().named; }
  Result<std::string> repr(const Value& v) {
    LOOM_TRY(std::string shown, to_repr(m_.heap, v));
    LOOM_TRY_VOID(m_.heap.decode(shown.size()));
    return shown;
  }
  void new_line(std::size_t indent) {
    out_.add('\n');
    out_.fill(indent, " ");
  }

  // Dicts by their keys, all the way down. Keys that have no order go by the names of their types.
  Result<Value> in_order(const Value& v) {
    LOOM_TRY_VOID(m_.heap.tick());
    LOOM_TRY_VOID(m_.heap.descend());
    if (is_plain(v)) {
      std::vector<Value> parts;
      for (const Value& item : v.items()) {
        LOOM_TRY(Value part, in_order(item));
        parts.push_back(std::move(part));
      }
      return make_sequence(m_.heap, v.kind(), std::move(parts));
    }
    if (!v.is(Kind::Dict)) return v;
    std::vector<std::pair<Value, Value>> pairs;
    for (const auto& [key, value] : v.dict().items) {
      LOOM_TRY(Value part, in_order(value));
      pairs.emplace_back(key, std::move(part));
    }
    std::optional<Error> error;
    std::stable_sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
      const auto r = before(a.first, b.first);
      if (!r && !error) error = r.error();
      return r && *r;
    });
    if (error) return tl::make_unexpected(*std::move(error));
    return make_dict(m_.heap, std::move(pairs));
  }
  Result<bool> before(const Value& a, const Value& b) {
    auto r = less(m_.heap, a, b);
    if (r || r.error().code != Code::TemplateError) return r;
    if (a.kind() == b.kind())
      return fail(Code::Unsupported, "pprint: keys of type {} that have no order are not supported", type_name(a));
    return std::string_view(type_name(a)) < std::string_view(type_name(b));
  }

  Result<void> items(const std::vector<Value>& list, std::string_view open, std::string_view close, std::size_t indent,
                     std::size_t room, int level) {
    out_.add(open);
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (k > 0) {
        out_.add(',');
        new_line(indent + 1);
      }
      LOOM_TRY_VOID(write(list[k], indent + 1, k + 1 == list.size() ? room + close.size() : 1, level));
    }
    out_.add(close);
    return {};
  }
  Result<void> dict(const Value& v, std::size_t indent, std::size_t room, int level) {
    out_.add('{');
    const auto& pairs = v.dict().items;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      if (k > 0) {
        out_.add(',');
        new_line(indent + 1);
      }
      LOOM_TRY(const Value key_sorted, in_order(pairs[k].first));
      LOOM_TRY(const std::string key, repr(key_sorted));
      out_.add(key);
      out_.add(": ");
      LOOM_TRY_VOID(
          write(pairs[k].second, indent + 1 + count_code_points(key) + 2, k + 1 == pairs.size() ? room + 1 : 1, level));
    }
    out_.add('}');
    return {};
  }

  // A long text: one literal per line of it, and lines too long for the page cut between words. Python counts columns
  // as signed numbers.
  Result<void> text(const Value& v, std::size_t indent_before, std::size_t room_behind, int level) {
    const bool alone = level == 1;
    const auto indent = static_cast<std::int64_t>(indent_before) + alone,
               room = static_cast<std::int64_t>(room_behind) + alone;
    const std::int64_t width = static_cast<std::int64_t>(kPrettyWidth) - indent;
    Arguments keep;
    keep.positional.push_back(Value::boolean(true));
    LOOM_TRY(const Value lines, find_method(v, "splitlines")->run(m_, v, keep));
    const auto& list = lines.items();
    std::vector<std::string> chunks;
    std::string shown;
    for (std::size_t k = 0; k < list.size(); ++k) {
      const bool last = k + 1 == list.size();
      LOOM_TRY(shown, repr(list[k]));
      if (columns(shown) <= width - (last ? room : 0))
        chunks.push_back(shown);
      else
        LOOM_TRY_VOID(cut_line(list[k].s(), width, last ? room : 0, chunks));
    }
    if (chunks.size() == 1) {
      out_.add(shown);
      return {};
    }
    if (alone) out_.add('(');
    for (std::size_t k = 0; k < chunks.size(); ++k) {
      if (k > 0) new_line(static_cast<std::size_t>(indent));
      out_.add(chunks[k]);
    }
    if (alone) out_.add(')');
    return {};
  }
  static std::int64_t columns(std::string_view s) { return static_cast<std::int64_t>(count_code_points(s)); }
  // Columns of a text between its quotes. The quotes depend on the whole, and with them what is escaped.
  static std::int64_t shown_columns(std::string_view s) { return columns(repr_string(s)); }

  Result<void> cut_line(std::string_view line, std::int64_t width, std::int64_t room,
                        std::vector<std::string>& chunks) {
    std::size_t begin = 0, end = 0;  // of what is gathered
    while (end < line.size()) {
      std::size_t next = end;
      while (next < line.size() && !is_blank_at(line, next)) next += decode_at(line, next).size;
      while (next < line.size() && is_blank_at(line, next)) next += decode_at(line, next).size;
      const std::int64_t most = width - (next == line.size() ? room : 0);
      LOOM_TRY_VOID(m_.heap.decode(next - begin + 16));
      if (shown_columns(line.substr(begin, next - begin)) > most) {
        if (end > begin) chunks.push_back(repr_string(line.substr(begin, end - begin)));
        begin = end;
      }
      end = next;
    }
    if (end > begin) chunks.push_back(repr_string(line.substr(begin, end - begin)));
    return {};
  }

  Machine& m_;
  TextBuilder out_;
};

}  // namespace

Result<Value> filter_pprint(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("pprint"));
  Pretty pretty(m);
  LOOM_TRY_VOID(pretty.write(v, 0, 0, 0));
  LOOM_TRY(std::string all, pretty.finish());
  return m.string(std::move(all));
}

}  // namespace loom::jinja
