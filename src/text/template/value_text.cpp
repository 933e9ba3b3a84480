// str(), repr() and json.dumps() of values.

#include <algorithm>
#include <cmath>

#include "text/template/unicode.h"
#include "text/template/value.h"

namespace loom::jinja {

std::string repr_float(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  std::string s = fmt::format("{}", d);  // shortest digits that read back, exponent from 1e16 on: as Python
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

std::string repr_string(std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint p = decode_at(text, i);
    const char c = text[i];
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(p.value)) {
      out.append(text.substr(i, p.size));
    } else if (p.value > 0x10ffff) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else if (p.value < 0x100) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(p.value));
    } else if (p.value < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(p.value));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<unsigned>(p.value));
    }
    i += p.size;
  }
  out += quote;
  return out;
}

namespace {

// Heights bound the recursion over lists and dicts; a namespace may hold itself, so depth is counted too.
class Repr {
 public:
  explicit Repr(Heap& heap) : heap_(heap), out_(heap) {}
  Result<void> write(const Value& v);
  Result<std::string> finish() { return out_.finish(); }

 private:
  Result<void> list(const std::vector<Value>& items, std::string_view open, std::string_view close) {
    out_.add(open);
    for (std::size_t k = 0; k < items.size(); ++k) {
      if (k > 0) out_.add(", ");
      LOOM_TRY_VOID(write(items[k]));
    }
    out_.add(close);
    return {};
  }
  Result<void> pairs(const DictObject& dict) {
    out_.add('{');
    bool first = true;
    for (const auto& [key, value] : dict.items) {
      if (!std::exchange(first, false)) out_.add(", ");
      LOOM_TRY_VOID(write(key));
      out_.add(": ");
      LOOM_TRY_VOID(write(value));
    }
    out_.add('}');
    return {};
  }
  Result<void> space(const NamespaceObject& ns) {
    out_.add("<Namespace {");
    bool first = true;
    for (const auto& [key, value] : ns.items) {
      if (!std::exchange(first, false)) out_.add(", ");
      out_.add(repr_string(key));
      out_.add(": ");
      LOOM_TRY_VOID(write(value));
    }
    out_.add("}>");
    return {};
  }
  Result<void> range(const RangeObject& r) {
    out_.add(r.step == 1 ? fmt::format("range({}, {})", r.start, r.stop)
                         : fmt::format("range({}, {}, {})", r.start, r.stop, r.step));
    return {};
  }
  Result<void> dispatch(const Value& v);

  Heap& heap_;
  TextBuilder out_;
  int depth_ = 0;
};

Result<void> Repr::write(const Value& v) {
  LOOM_TRY_VOID(heap_.tick());
  LOOM_TRY_VOID(heap_.descend());
  if (out_.full()) return {};
  if (++depth_ > 400) return fail(Code::LimitExceeded, "a printed value is nested deeper than 400");
  LOOM_TRY_VOID(dispatch(v));
  --depth_;
  return {};
}

Result<void> Repr::dispatch(const Value& v) {
  switch (v.kind()) {
    case Kind::Missing:
    case Kind::Undefined: out_.add("Undefined"); return {};
    case Kind::None: out_.add("None"); return {};
    case Kind::Bool: out_.add(v.b() ? "True" : "False"); return {};
    case Kind::Int: out_.add(fmt::format("{}", v.i())); return {};
    case Kind::BigInt: out_.add(v.s()); return {};
    case Kind::Float: out_.add(repr_float(v.f())); return {};
    case Kind::String:
      LOOM_TRY_VOID(heap_.reserve(v.s().size() * 4));  // an escape takes four bytes, and longer than a copy
      out_.add(v.text().markup ? fmt::format("Markup({})", repr_string(v.s())) : repr_string(v.s()));
      return {};
    case Kind::List: return list(v.items(), "[", "]");
    case Kind::Tuple: return list(v.items(), "(", v.items().size() == 1 ? ",)" : ")");
    case Kind::Keys: return list(v.items(), "dict_keys([", "])");
    case Kind::Values: return list(v.items(), "dict_values([", "])");
    case Kind::Items: return list(v.items(), "dict_items([", "])");
    case Kind::Dict: return pairs(v.dict());
    case Kind::Range: return range(v.as<RangeObject>());
    case Kind::Namespace: return space(v.as<NamespaceObject>());
    // Python prints an address, which no result may hold.
    default: return fail(Code::Unsupported, "printing a {} is not supported", type_name(v));
  }
}

class JsonWriter {
 public:
  JsonWriter(Heap& heap, const JsonStyle& style) : heap_(heap), style_(style), out_(heap) {}
  Result<void> write(const Value& v);
  Result<std::string> finish() { return out_.finish(); }

 private:
  void line() {
    if (!style_.indent) return;
    out_.add('\n');
    out_.fill(depth_, *style_.indent);
  }
  void string(std::string_view s);
  Result<void> list(const std::vector<Value>& items) {
    if (items.empty()) {
      out_.add("[]");
      return {};
    }
    out_.add('[');
    ++depth_;
    for (std::size_t k = 0; k < items.size(); ++k) {
      if (k > 0) out_.add(style_.item_separator);
      line();
      LOOM_TRY_VOID(write(items[k]));
    }
    --depth_;
    line();
    out_.add(']');
    return {};
  }
  Result<std::string> key(const Value& k) const {
    if (k.is(Kind::String) || k.is(Kind::BigInt)) return std::string(k.s());
    if (k.is(Kind::None)) return std::string("null");
    if (k.is(Kind::Bool)) return std::string(k.b() ? "true" : "false");
    if (k.is(Kind::Int)) return fmt::format("{}", k.i());
    if (k.is(Kind::Float)) return repr_float(k.f());
    return fail(Code::TemplateError, "keys must be str, int, float, bool or None, not {}", type_name(k));
  }
  Result<void> dict(const DictObject& d);

  Heap& heap_;
  const JsonStyle& style_;
  TextBuilder out_;
  std::size_t depth_ = 0;
};

void JsonWriter::string(std::string_view s) {
  out_.add('"');
  heap_.spend(s.size() / 16);
  std::size_t plain = 0;  // start of the bytes not yet copied
  for (std::size_t i = 0; i < s.size();) {
    const CodePoint p = decode_at(s, i);
    const bool escape = p.value < 0x20 || p.value == '"' || p.value == '\\' || (style_.ascii && p.value > 0x7e);
    if (escape) {
      if (out_.full() || !heap_.spend(1)) return;
      out_.add(s.substr(plain, i - plain));
      plain = i + p.size;
      switch (p.value) {
        case '"': out_.add("\\\""); break;
        case '\\': out_.add("\\\\"); break;
        case '\n': out_.add("\\n"); break;
        case '\r': out_.add("\\r"); break;
        case '\t': out_.add("\\t"); break;
        case '\b': out_.add("\\b"); break;
        case '\f': out_.add("\\f"); break;
        default: {
          const auto c = static_cast<unsigned>(std::min<char32_t>(p.value, 0x10ffff));
          if (c == 0x7f)
            out_.add("\x7f");
          else if (c < 0x10000)
            out_.add(fmt::format("\\u{:04x}", c));
          else
            out_.add(
                fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + ((c - 0x10000) & 0x3ff)));
        }
      }
    }
    i += p.size;
  }
  out_.add(s.substr(plain));
  out_.add('"');
}

Result<void> JsonWriter::dict(const DictObject& d) {
  if (d.items.empty()) {
    out_.add("{}");
    return {};
  }
  std::vector<std::uint32_t> order(d.items.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::uint32_t>(k);
  if (style_.sort_keys) {
    for (const auto& entry : d.items) {
      LOOM_TRY_VOID(less(heap_, d.items[0].first, entry.first));  // keys of kinds that have no common order
      LOOM_TRY_VOID(heap_.tick());
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto r = less(heap_, d.items[a].first, d.items[b].first);
      return r && *r;
    });
  }
  out_.add('{');
  ++depth_;
  bool first = true;
  for (const std::uint32_t k : order) {
    if (!std::exchange(first, false)) out_.add(style_.item_separator);
    line();
    LOOM_TRY(const auto name, key(d.items[k].first));
    string(name);
    out_.add(style_.key_separator);
    LOOM_TRY_VOID(write(d.items[k].second));
  }
  --depth_;
  line();
  out_.add('}');
  return {};
}

Result<void> JsonWriter::write(const Value& v) {
  LOOM_TRY_VOID(heap_.tick());
  LOOM_TRY_VOID(heap_.descend());
  if (out_.full()) return {};
  switch (v.kind()) {
    case Kind::None: out_.add("null"); return {};
    case Kind::Bool: out_.add(v.b() ? "true" : "false"); return {};
    case Kind::Int: out_.add(fmt::format("{}", v.i())); return {};
    case Kind::BigInt: out_.add(v.s()); return {};
    case Kind::Float:
      out_.add(std::isnan(v.f())   ? "NaN"
               : std::isinf(v.f()) ? (v.f() < 0 ? "-Infinity" : "Infinity")
                                   : repr_float(v.f()));
      return {};
    case Kind::String: string(v.s()); return {};
    case Kind::List:
    case Kind::Tuple: return list(v.items());
    case Kind::Dict: return dict(v.dict());
    default: return fail(Code::TemplateError, "Object of type {} is not JSON serializable", type_name(v));
  }
}

}  // namespace

Result<std::string> to_repr(Heap& heap, const Value& value) {
  Repr repr(heap);
  LOOM_TRY_VOID(repr.write(value));
  return repr.finish();
}

Result<std::string> to_str(Heap& heap, const Value& value) {
  if (value.is(Kind::String)) {
    LOOM_TRY_VOID(heap.reserve(value.s().size()));
    return std::string(value.s());
  }
  if (value.undefined()) return std::string();
  return to_repr(heap, value);
}

Result<std::string> to_json(Heap& heap, const Value& value, const JsonStyle& style) {
  JsonWriter writer(heap, style);
  LOOM_TRY_VOID(writer.write(value));
  return writer.finish();
}

}  // namespace loom::jinja
