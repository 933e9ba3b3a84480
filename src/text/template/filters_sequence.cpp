// Filters over sequences and mappings. jinja2's lazy ones return a generator: Loom makes its items at once, and reports
// the error that would end it after the items before it are used.

#include <algorithm>
#include <span>

#include "text/template/interpreter.h"
#include "text/template/unicode.h"

namespace loom::jinja {
namespace {

Value lower_case(Machine& m, const Value& v) {
  if (!v.is(Kind::String)) return v;
  m.heap.spend(v.s().size() / 16);
  return m.string(to_lower(v.s()));
}

// "a.b.0" or an index: environment.getitem step by step.
Result<Value> walk(Machine& m, Value v, const Value& path, const Value& fallback = {}) {
  const auto step = [&](const Value& key) -> Result<void> {
    LOOM_TRY_VOID(m.heap.tick());
    LOOM_TRY(v, m.item(v, key));
    if (v.undefined() && !fallback.missing() && !fallback.is(Kind::None)) v = fallback;
    return {};
  };
  if (path.missing() || path.is(Kind::None)) return v;
  if (!path.is(Kind::String)) {
    LOOM_TRY_VOID(step(path));
    return v;
  }
  std::string_view rest = path.s();
  LOOM_TRY_VOID(m.heap.scan(rest.size()));
  while (true) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    const auto index = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos
                           ? parse_integer(part, 10)
                           : std::nullopt;
    LOOM_TRY_VOID(step(index ? Value::integer(*index) : m.string(std::string(part))));
    if (dot == rest.size()) return v;
    rest.remove_prefix(dot + 1);
  }
}

// Sort keys; ties keep their order.
Result<void> sort_by(Machine& m, std::vector<Value>& items, std::span<const Value> keys, bool reverse) {
  std::vector<std::uint32_t> order(items.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::uint32_t>(k);
  std::optional<Error> error;
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    if (error) return false;
    auto r = reverse ? less(m.heap, keys[b], keys[a]) : less(m.heap, keys[a], keys[b]);
    if (r) {
      if (auto t = m.heap.tick(); !t) error = std::move(t).error();
      return *r;
    }
    error = std::move(r).error();
    return false;
  };
  std::stable_sort(order.begin(), order.end(), before);  // merges: safe whatever `before` says
  if (error) return tl::make_unexpected(*std::move(error));
  std::vector<Value> out;
  out.reserve(items.size());
  for (const std::uint32_t k : order) out.push_back(items[k]);
  items = std::move(out);
  return {};
}

Result<Value> generator(Machine& m, std::vector<Value> items, std::optional<Error> tail = {}) {
  LOOM_TRY(Value out, make_sequence(m.heap, Kind::Generator, std::move(items)));
  out.as<SequenceObject>().tail = std::move(tail);
  return out;
}

// ---- filters

Result<Value> filter_length(Machine&, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("length"));
  LOOM_TRY(const std::int64_t n, length_of(v));
  return Value::integer(n);
}
Result<Value> filter_list(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("list"));
  LOOM_TRY(auto items, to_list(m.heap, v));
  return make_sequence(m.heap, Kind::List, std::move(items));
}
Result<Value> filter_items(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("items"));
  if (v.undefined()) return generator(m, {});
  if (!v.is(Kind::Dict)) return generator(m, {}, Error{Code::TemplateError, "Can only get item pairs from a mapping."});
  LOOM_TRY(const Value pairs, find_method(v, "items")->run(m, v, {}));
  return generator(m, pairs.items());
}

Result<Value> filter_join(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("join", {"d", "attribute"}));
  std::string separator;
  if (!a[0].missing()) {
    LOOM_TRY(separator, to_str(m.heap, a[0]));
  }
  LOOM_TRY(const auto items, to_list(m.heap, v));
  TextBuilder out(m.heap);
  bool first = true;
  for (const Value& item : items) {
    if (!std::exchange(first, false)) out.add(separator);
    LOOM_TRY(const Value part, walk(m, item, a[1]));
    if (part.is(Kind::String)) {
      out.add(part.s());
    } else {
      LOOM_TRY(const std::string text, to_str(m.heap, part));
      out.add(text);
    }
  }
  LOOM_TRY(std::string text, out.finish());
  return m.string(std::move(text));
}

Result<Value> filter_first(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("first"));
  if (v.is(Kind::Generator)) {  // reads one item
    auto& g = v.as<SequenceObject>();
    if (g.position < g.items.size()) return g.items[g.position++];
    if (g.tail) return tl::make_unexpected(*std::exchange(g.tail, std::nullopt));
  }
  LOOM_TRY(auto all, iterate(m.heap, v));
  if (all.items.empty()) return m.undefined("No first item, sequence was empty.");
  return all.items.front();
}
Result<Value> filter_last(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("last"));
  if (v.is(Kind::Generator)) return fail(Code::TemplateError, "'generator' object is not reversible");
  LOOM_TRY(auto items, to_list(m.heap, v));
  if (items.empty()) return m.undefined("No last item, sequence was empty.");
  return items.back();
}
Result<Value> filter_reverse(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("reverse"));
  if (v.is(Kind::String)) return slice(m, v, Value::none(), Value::none(), Value::integer(-1));
  const bool lazy = !v.is(Kind::Generator);
  LOOM_TRY(auto items, to_list(m.heap, v));
  std::reverse(items.begin(), items.end());
  if (lazy) return generator(m, std::move(items));
  return make_sequence(m.heap, Kind::List, std::move(items));
}

Result<Value> filter_sort(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("sort", {"reverse", "case_sensitive", "attribute"}));
  LOOM_TRY(auto items, to_list(m.heap, v));
  std::vector<Value> paths;  // "a,b" sorts by a, then b
  if (a[2].is(Kind::String)) {
    std::string_view rest = a[2].s();
    LOOM_TRY_VOID(m.heap.scan(rest.size()));
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      paths.push_back(m.string(std::string(rest.substr(0, comma))));
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  } else {
    paths.push_back(a[2]);
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> parts;
    for (const Value& path : paths) {
      LOOM_TRY(Value part, walk(m, item, path));
      parts.push_back(truthy(a[1]) ? part : lower_case(m, part));
    }
    LOOM_TRY(Value key, make_sequence(m.heap, Kind::List, std::move(parts)));
    keys.push_back(std::move(key));
  }
  LOOM_TRY_VOID(sort_by(m, items, keys, truthy(a[0])));
  return make_sequence(m.heap, Kind::List, std::move(items));
}

Result<Value> filter_dictsort(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("dictsort", {"case_sensitive", "by", "reverse"}));
  const bool by_value = a[1].is(Kind::String) && a[1].s() == "value";
  if (!a[1].missing() && !by_value && !(a[1].is(Kind::String) && a[1].s() == "key"))
    return fail(Code::TemplateError, "You can only sort by either \"key\" or \"value\"");
  if (v.undefined()) return undefined_error(v);
  if (!v.is(Kind::Dict)) return fail(Code::TemplateError, "'{}' object has no attribute 'items'", type_name(v));
  LOOM_TRY(const Value pairs, find_method(v, "items")->run(m, v, {}));
  std::vector<Value> items = pairs.items(), keys;
  for (const Value& pair : items) {
    const Value& key = pair.items()[by_value ? 1 : 0];
    keys.push_back(truthy(a[0]) ? key : lower_case(m, key));
  }
  LOOM_TRY_VOID(sort_by(m, items, keys, truthy(a[2])));
  return make_sequence(m.heap, Kind::List, std::move(items));
}

Result<Value> filter_unique(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("unique", {"case_sensitive", "attribute"}));
  LOOM_TRY(auto all, iterate(m.heap, v));
  Ref<DictObject> seen(new DictObject(m.heap));
  std::vector<Value> out;
  for (const Value& item : all.items) {
    auto key = walk(m, item, a[1]);
    if (key && !hashable(*key)) key = fail(Code::TemplateError, "unhashable type: '{}'", type_name(*key));
    if (!key) return generator(m, std::move(out), std::move(key).error());
    const Value k = truthy(a[0]) ? *key : lower_case(m, *key);
    LOOM_TRY_VOID(m.heap.tick());
    if (seen->find(k)) continue;
    seen->set(k, Value::none());
    out.push_back(item);
  }
  return generator(m, std::move(out), std::move(all.tail));
}

template <bool Max>
Result<Value> filter_extreme(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind(Max ? "max" : "min", {"case_sensitive", "attribute"}));
  LOOM_TRY(const auto items, to_list(m.heap, v));
  Value best, best_key;
  for (const Value& item : items) {
    LOOM_TRY(Value key, walk(m, item, a[1]));
    if (!truthy(a[0])) key = lower_case(m, key);
    if (!best.missing()) {
      LOOM_TRY(const bool better, Max ? less(m.heap, best_key, key, ">") : less(m.heap, key, best_key, "<"));
      if (!better) continue;
    }
    best = item;
    best_key = std::move(key);
  }
  return best.missing() ? m.undefined("No aggregated item, sequence was empty.") : best;
}

Result<Value> filter_sum(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("sum", {"attribute", "start"}));
  LOOM_TRY(const auto items, to_list(m.heap, v));
  Value total = a[1].missing() ? Value::integer(0) : a[1];
  if (total.is(Kind::String)) return fail(Code::TemplateError, "sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : items) {
    LOOM_TRY(const Value part, walk(m, item, a[0]));
    LOOM_TRY(total, arithmetic(m, Op::Add, total, part));
  }
  return total;
}

Result<Value> filter_batch(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("batch", {"linecount", "fill_with"}, 1));
  if (!a[0].integral())
    return fail(Code::TemplateError, "batch: expected a number of items, got '{}'", type_name(a[0]));
  LOOM_TRY(const auto items, to_list(m.heap, v));
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(a[0].i(), 0));
  std::vector<Value> out, line;
  for (const Value& item : items) {
    if (line.size() == size) {
      LOOM_TRY(Value full, make_sequence(m.heap, Kind::List, std::exchange(line, {})));
      out.push_back(std::move(full));
    }
    line.push_back(item);
  }
  if (!line.empty()) {
    if (!a[1].missing() && !a[1].is(Kind::None) && line.size() < size) {
      LOOM_TRY_VOID(m.heap.reserve(size > m.heap.room() ? size : size * sizeof(Value)));
      line.resize(size, a[1]);
    }
    LOOM_TRY(Value last, make_sequence(m.heap, Kind::List, std::move(line)));
    out.push_back(std::move(last));
  }
  return generator(m, std::move(out));
}

Result<Value> filter_slice(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("slice", {"slices", "fill_with"}, 1));
  LOOM_TRY(const auto items, to_list(m.heap, v));
  if (!a[0].integral() || a[0].i() == 0)
    return fail(Code::TemplateError, "slice: expected a number of slices other than 0");
  const auto slices = static_cast<std::size_t>(std::max<std::int64_t>(a[0].i(), 0));
  std::vector<Value> out;
  if (slices == 0) return generator(m, {});
  const std::size_t each = items.size() / slices, extra = items.size() % slices;
  std::size_t start = 0;
  for (std::size_t k = 0; k < slices; ++k) {
    const std::size_t n = each + (k < extra ? 1 : 0);
    std::vector<Value> part(items.begin() + static_cast<std::ptrdiff_t>(start),
                            items.begin() + static_cast<std::ptrdiff_t>(start + n));
    if (!a[1].missing() && !a[1].is(Kind::None) && k >= extra) part.push_back(a[1]);
    start += n;
    LOOM_TRY(Value list, make_sequence(m.heap, Kind::List, std::move(part)));
    LOOM_TRY_VOID(m.heap.tick());
    out.push_back(std::move(list));
  }
  return generator(m, std::move(out));
}

Result<Value> filter_groupby(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("groupby", {"attribute", "default", "case_sensitive"}, 1));
  LOOM_TRY(auto items, to_list(m.heap, v));
  const auto key_of = [&](const Value& item) -> Result<Value> {
    LOOM_TRY(const Value key, walk(m, item, a[0], a[1]));
    return truthy(a[2]) ? key : lower_case(m, key);
  };
  std::vector<Value> keys, out, group;
  for (const Value& item : items) {
    LOOM_TRY(Value key, key_of(item));
    keys.push_back(std::move(key));
  }
  LOOM_TRY_VOID(sort_by(m, items, keys, false));
  Value current;
  for (std::size_t k = 0; k <= items.size(); ++k) {
    Value key;
    if (k < items.size()) {
      LOOM_TRY(key, key_of(items[k]));
    }
    if (!group.empty() && (k == items.size() || !equal(key, current))) {
      LOOM_TRY(Value shown, walk(m, group[0], a[0], a[1]));
      LOOM_TRY(Value list, make_sequence(m.heap, Kind::List, std::exchange(group, {})));
      LOOM_TRY(Value pair, make_sequence(m.heap, Kind::Tuple, {truthy(a[2]) ? current : shown, list}));
      pair.as<SequenceObject>().named = "group";
      out.push_back(std::move(pair));
    }
    if (k == items.size()) break;
    current = std::move(key);
    group.push_back(items[k]);
  }
  return make_sequence(m.heap, Kind::List, std::move(out));
}

Result<Value> filter_attr(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("attr", {"name"}, 1));
  if (!a[0].is(Kind::String))
    return fail(Code::TemplateError, "attribute name must be string, not '{}'", type_name(a[0]));
  if (v.is(Kind::Dict) && !find_method(v, a[0].s()))
    return m.undefined(fmt::format("'dict object' has no attribute {}", repr_string(shortened(a[0].s()))));
  return m.attribute(v, a[0].s());
}

Result<Value> filter_map(Machine& m, const Value& v, const Arguments& args) {
  if (!truthy(v)) return generator(m, {});
  Value path, fallback;
  int filter = -1;
  Arguments rest;
  if (args.positional.empty() &&
      std::any_of(args.keyword.begin(), args.keyword.end(), [](const auto& k) { return k.first == "attribute"; })) {
    for (const auto& [key, value] : args.keyword) {
      if (key == "attribute")
        path = value;
      else if (key == "default")
        fallback = value;
      else
        return generator(m, {},
                         Error{Code::TemplateError, fmt::format("Unexpected keyword argument {}", repr_string(key))});
    }
  } else if (args.positional.empty()) {
    return generator(m, {}, Error{Code::TemplateError, "map requires a filter argument"});
  } else {
    filter = args.positional[0].is(Kind::String) ? find_filter(args.positional[0].s()) : -1;
    if (filter < 0) return generator(m, {}, Error{Code::TemplateError, "No filter of this name for map"});
    rest.positional.assign(args.positional.begin() + 1, args.positional.end());
    rest.keyword = args.keyword;
  }
  LOOM_TRY(auto all, iterate(m.heap, v));
  std::vector<Value> out;
  for (const Value& item : all.items) {
    auto r = filter < 0 ? walk(m, item, path, fallback) : filter_entry(filter).run(m, item, rest);
    if (!r) return generator(m, std::move(out), std::move(r).error());
    out.push_back(std::move(*r));
  }
  return generator(m, std::move(out), std::move(all.tail));
}

template <bool Attribute, bool Keep>
Result<Value> filter_select(Machine& m, const Value& v, const Arguments& args) {
  if (!truthy(v)) return generator(m, {});
  const std::size_t off = Attribute ? 1 : 0;
  if (args.positional.size() < off)
    return generator(m, {}, Error{Code::TemplateError, "Missing parameter for attribute name"});
  int test = -1;
  Arguments rest;
  if (args.positional.size() > off) {
    const Value& name = args.positional[off];
    test = name.is(Kind::String) ? find_test(name.s()) : -1;
    if (test < 0) return generator(m, {}, Error{Code::TemplateError, "No test of this name for select or reject"});
    rest.positional.assign(args.positional.begin() + static_cast<std::ptrdiff_t>(off) + 1, args.positional.end());
    rest.keyword = args.keyword;
  }
  LOOM_TRY(auto all, iterate(m.heap, v));
  std::vector<Value> out;
  for (const Value& item : all.items) {
    auto subject = Attribute ? walk(m, item, args.positional[0]) : Result<Value>(item);
    if (!subject) return generator(m, std::move(out), std::move(subject).error());
    auto holds = test < 0 ? Result<bool>(truthy(*subject)) : test_entry(test).run(m, *subject, rest);
    if (!holds) return generator(m, std::move(out), std::move(holds).error());
    LOOM_TRY_VOID(m.heap.tick());
    if (*holds == Keep) out.push_back(item);
  }
  return generator(m, std::move(out), std::move(all.tail));
}

constexpr FilterEntry kSequenceFilters[] = {
    {"attr", filter_attr},
    {"batch", filter_batch},
    {"count", filter_length},
    {"dictsort", filter_dictsort},
    {"first", filter_first},
    {"groupby", filter_groupby},
    {"items", filter_items},
    {"join", filter_join},
    {"last", filter_last},
    {"length", filter_length},
    {"list", filter_list},
    {"map", filter_map},
    {"max", filter_extreme<true>},
    {"min", filter_extreme<false>},
    {"reject", filter_select<false, false>},
    {"rejectattr", filter_select<true, false>},
    {"reverse", filter_reverse},
    {"select", filter_select<false, true>},
    {"selectattr", filter_select<true, true>},
    {"slice", filter_slice},
    {"sort", filter_sort},
    {"sum", filter_sum},
    {"unique", filter_unique},
};

}  // namespace

std::span<const FilterEntry> sequence_filters() { return kSequenceFilters; }

}  // namespace loom::jinja
