// Variables to slots. jinja2 compiles a template to Python functions and decides per scope, before it runs, whether a
// name is a parameter, a copy of an outer variable, a context variable or unset; templates show the difference, so the
// rules are the same: a scope first collects every name that it loads or stores (inner scopes excluded), then its
// inner scopes look names up in it.

#include <deque>
#include <map>
#include <set>

#include "core/stack_limit.h"
#include "text/template/builtins.h"
#include "text/template/parser.h"

namespace loom::jinja {
namespace {

// Names known in a scope, or in one branch of an if inside it. A branch starts empty and falls back to its base.
struct Symbols {
  Symbols* base = nullptr;    // the scope around a branch
  Symbols* parent = nullptr;  // the outer scope
  std::int32_t function = 0;
  std::map<std::uint32_t, Load> loads;  // key: name; in a branch only what it added or changed
  std::set<std::uint32_t> stores;
  std::map<std::uint32_t, std::int32_t>* slots = nullptr;  // of the scope, shared with its branches

  bool has(std::uint32_t name) const {
    for (const Symbols* s = this; s; s = s->base)
      if (s->loads.contains(name)) return true;
    return false;
  }
  bool stored(std::uint32_t name) const {
    for (const Symbols* s = this; s; s = s->base)
      if (s->stores.contains(name)) return true;
    return false;
  }
};

struct Place {
  std::int32_t slot = -1, function = 0;
};

class Resolver {
 public:
  explicit Resolver(ProgramData& program) : p_(program) {}

  Result<void> run() {
    p_.functions.emplace_back();
    parents_.push_back(-1);
    Symbols& root = open(nullptr, 0);
    collect(p_.root, root);
    std::int32_t scope = 0;
    close(root, scope);
    LOOM_TRY_VOID(compile(p_.root, root, false));
    return whole();
  }

 private:
  // Names that were passed over because the stack ends make everything after them wrong.
  Result<void> whole() const {
    if (too_deep_)
      return fail(Code::LimitExceeded, "the template is nested deeper than the stack of this thread allows");
    return {};
  }
  bool stack_ends() const { return too_deep_ = too_deep_ || stack_.reached(); }
  Node& at(NodeId id) { return p_.nodes[id]; }
  NodeId item(const Node& n, std::uint32_t k) const { return p_.lists[n.first + k]; }

  // ---- scopes
  Symbols& open(Symbols* parent, std::int32_t function) {
    Symbols& s = all_.emplace_back();
    s.parent = parent;
    s.function = function;
    s.slots = &slot_maps_.emplace_back();
    return s;
  }
  std::int32_t new_function(std::int32_t parent) {
    p_.functions.emplace_back();
    parents_.push_back(parent);
    return static_cast<std::int32_t>(p_.functions.size() - 1);
  }
  std::int32_t slot(Symbols& s, std::uint32_t name) {
    const auto [it, fresh] = s.slots->try_emplace(name, p_.functions[static_cast<std::size_t>(s.function)].slots);
    if (fresh) ++p_.functions[static_cast<std::size_t>(s.function)].slots;
    return it->second;
  }
  void define(Symbols& s, std::uint32_t name, Load load) {
    load.slot = slot(s, name);
    s.loads[name] = load;
  }
  Place find(const Symbols* s, std::uint32_t name) const {
    for (; s; s = s->parent) {
      if (s->has(name)) return {s->slots->at(name), s->function};
      while (s->base) s = s->base;  // its parent is the scope's
    }
    return {};
  }
  std::int32_t frames_up(std::int32_t from, std::int32_t to) const {
    std::int32_t up = 0;
    for (; from != to; from = parents_[static_cast<std::size_t>(from)]) ++up;
    return up;
  }
  const Symbols* outer(const Symbols& s) const {
    const Symbols* top = &s;
    while (top->base) top = top->base;
    return top->parent;
  }
  Load alias(const Symbols& s, Place from) const {
    Load load;
    load.kind = Load::Kind::Alias;
    load.from_slot = from.slot;
    load.from_up = frames_up(s.function, from.function);
    return load;
  }
  Load resolve(std::uint32_t name) const {
    Load load;
    load.kind = Load::Kind::Resolve;
    load.name = name;
    return load;
  }
  std::int32_t parameter(Symbols& s, std::uint32_t name) {
    s.stores.insert(name);
    Load load;
    load.kind = Load::Kind::Parameter;
    define(s, name, load);
    return slot(s, name);
  }
  void load(Symbols& s, std::uint32_t name) {
    if (s.has(name) || find(outer(s), name).slot >= 0) return;
    define(s, name, resolve(name));
  }
  void store(Symbols& s, std::uint32_t name) {
    s.stores.insert(name);
    if (s.has(name)) return;
    const Place from = find(outer(s), name);
    define(s, name, from.slot >= 0 ? alias(s, from) : Load());
  }
  void merge(Symbols& s, Symbols* (&branches)[3]) {
    std::map<std::uint32_t, int> counts;
    for (const Symbols* branch : branches)
      for (const std::uint32_t name : branch->stores)
        if (!s.stored(name)) ++counts[name];
    for (const Symbols* branch : branches) {
      for (const auto& [name, load] : branch->loads) s.loads[name] = load;
      s.stores.insert(branch->stores.begin(), branch->stores.end());
    }
    for (const auto& [name, count] : counts) {
      if (count == 3) continue;
      const Place from = find(outer(s), name);
      define(s, name, from.slot >= 0 ? alias(s, from) : resolve(name));
    }
  }
  void close(const Symbols& s, std::int32_t& scope) {
    scope = static_cast<std::int32_t>(p_.scopes.size());
    Scope& out = p_.scopes.emplace_back();
    for (const auto& [name, load] : s.loads)
      if (load.kind != Load::Kind::Parameter) out.loads.push_back(load);
  }

  // ---- first walk: the names of one scope
  void collect_list(const Node& n, Symbols& s) {
    for (std::uint32_t k = 0; k < n.count; ++k) collect(item(n, k), s);
  }
  void collect_target(NodeId id, Symbols& s, bool as_parameter) {
    const Node& n = at(id);
    if (n.kind == NodeKind::Tuple) {
      for (std::uint32_t k = 0; k < n.count; ++k) collect_target(item(n, k), s, as_parameter);
    } else if (n.kind == NodeKind::NamespaceRef) {
      load(s, n.text);
    } else if (as_parameter) {
      parameter(s, n.text);
    } else {
      store(s, n.text);
    }
  }
  void collect_branches(const Node& n, Symbols& s) {
    Symbols* branches[3];
    for (Symbols*& branch : branches) {
      branch = &all_.emplace_back();
      branch->base = &s;
      branch->function = s.function;
      branch->slots = s.slots;
    }
    collect(item(n, 0), s);
    collect(item(n, 1), *branches[0]);
    for (std::uint32_t k = 2; k + 1 < n.count; k += 2) {  // each elif is an if of its own, with only a body
      Symbols& inside = *branches[1];
      collect(item(n, k), inside);
      Symbols* parts[3];
      for (Symbols*& part : parts) {
        part = &all_.emplace_back();
        part->base = &inside;
        part->function = s.function;
        part->slots = s.slots;
      }
      collect(item(n, k + 1), *parts[0]);
      merge(inside, parts);
    }
    if (n.otherwise != kNoNode) collect(n.otherwise, *branches[2]);
    merge(s, branches);
  }
  void collect(NodeId id, Symbols& s) {
    if (id == kNoNode || stack_ends()) return;
    const Node n = at(id);
    switch (n.kind) {
      case NodeKind::Name: load(s, n.text); return;
      case NodeKind::Condition: collect_branches(n, s); return;
      case NodeKind::For: collect(n.b, s); return;
      case NodeKind::Set:
        collect(n.b, s);
        collect_target(n.a, s, false);
        return;
      case NodeKind::SetBlock: collect_target(n.a, s, false); return;
      case NodeKind::With:
        for (std::uint32_t k = 1; k < n.count; k += 2) collect(item(n, k), s);
        return;
      case NodeKind::Macro: store(s, n.text); return;
      case NodeKind::CallBlock: collect(n.a, s); return;
      case NodeKind::FilterBlock: collect(n.b, s); return;
      case NodeKind::Generation: return;
      default:
        for (const NodeId child : {n.a, n.b, n.c, n.body}) collect(child, s);
        collect_list(n, s);
    }
  }

  // ---- second walk: slots of every name, inner scopes
  Result<void> compile_list(const Node& n, Symbols& s, bool soft) {
    for (std::uint32_t k = 0; k < n.count; ++k) LOOM_TRY_VOID(compile(item(n, k), s, soft));
    return {};
  }
  void place(NodeId id, const Symbols& s) {
    const Place found = find(&s, at(id).text);
    at(id).slot = found.slot;
    if (found.slot >= 0) at(id).index = frames_up(s.function, found.function);
  }
  void place_target(NodeId id, const Symbols& s) {
    const Node n = at(id);
    if (n.kind != NodeKind::Tuple) return place(id, s);
    for (std::uint32_t k = 0; k < n.count; ++k) place_target(item(n, k), s);
  }
  Result<void> compile_for(NodeId id, Symbols& s) {
    const Node n = at(id);
    LOOM_TRY_VOID(compile(n.b, s, false));
    const std::int32_t function = n.flag ? new_function(s.function) : s.function;
    if (n.flag) p_.macros[static_cast<std::size_t>(n.index)].function = function;
    Symbols& body = open(&s, function);
    at(id).slot = parameter(body, kLoopName);
    at(id).uses_loop = mentions(n.body, kLoopName);
    collect_target(n.a, body, true);
    collect(n.body, body);
    close(body, at(id).scope);
    if (n.otherwise != kNoNode) {
      Symbols& otherwise = open(&s, function);
      collect(n.otherwise, otherwise);
      close(otherwise, at(id).scope3);
      LOOM_TRY_VOID(compile(n.otherwise, otherwise, false));
    }
    place_target(n.a, body);
    LOOM_TRY_VOID(compile(n.body, body, false));
    if (n.c == kNoNode) return {};
    // The test sees the target in the body's slots; the interpreter puts them back afterwards.
    Symbols& test = open(&s, function);
    collect_target(n.a, test, true);
    collect(n.c, test);
    for (auto& [name, slot] : *test.slots)
      if (test.loads[name].kind == Load::Kind::Parameter) slot = body.slots->at(name);
    close(test, at(id).scope2);
    return compile(n.c, test, false);
  }
  Result<void> compile_macro(NodeId id, Symbols& s) {
    const Node n = at(id);
    const std::int32_t function = new_function(s.function);
    Symbols& inside = open(&s, function);
    MacroInfo info = p_.macros[static_cast<std::size_t>(n.index)];
    info.function = function;
    bool given_caller = false, given_kwargs = false, given_varargs = false;
    for (Parameter& each : info.parameters) {
      each.slot = parameter(inside, each.name);
      if (each.name == kCallerName) {
        given_caller = true;
        if (each.fallback == kNoNode && mentions(n.body, kCallerName))
          return fail(Code::TemplateError,
                      "line {}: the special argument 'caller' must be left out or be given a default", n.line);
      }
      given_kwargs |= each.name == kKwargsName;
      given_varargs |= each.name == kVarargsName;
    }
    info.uses_caller = mentions(n.body, kCallerName);
    if (info.uses_caller && !given_caller) info.caller_slot = parameter(inside, kCallerName);
    if (!given_kwargs && mentions(n.body, kKwargsName)) info.kwargs_slot = parameter(inside, kKwargsName);
    if (!given_varargs && mentions(n.body, kVarargsName)) info.varargs_slot = parameter(inside, kVarargsName);
    collect_list(n, inside);
    collect(n.body, inside);
    close(inside, at(id).scope);
    p_.macros[static_cast<std::size_t>(n.index)] = info;
    LOOM_TRY_VOID(compile_list(n, inside, false));
    LOOM_TRY_VOID(compile(n.body, inside, false));
    if (n.kind == NodeKind::Macro) at(id).slot = find(&s, n.text).slot;
    return {};
  }
  Result<void> compile_inner(NodeId id, Symbols& s) {  // SetBlock and FilterBlock: a scope of the same function
    const Node n = at(id);
    Symbols& inside = open(&s, s.function);
    if (n.kind == NodeKind::FilterBlock) collect(n.b, inside);
    collect(n.body, inside);
    close(inside, at(id).scope);
    LOOM_TRY_VOID(compile(n.body, inside, false));
    if (n.b != kNoNode) LOOM_TRY_VOID(compile(n.b, inside, false));
    if (n.kind == NodeKind::SetBlock) place_target(n.a, s);
    return {};
  }
  Result<void> compile_with(NodeId id, Symbols& s) {
    const Node n = at(id);
    Symbols& inside = open(&s, s.function);
    for (std::uint32_t k = 0; k + 1 < n.count; k += 2) {
      LOOM_TRY_VOID(compile(item(n, k + 1), s, false));
      collect_target(item(n, k), inside, true);
    }
    collect(n.body, inside);
    close(inside, at(id).scope);
    for (std::uint32_t k = 0; k + 1 < n.count; k += 2) place_target(item(n, k), inside);
    return compile(n.body, inside, false);
  }
  // Unknown filters and tests are errors now, except inside an if, where jinja2 waits until they are used.
  Result<void> check_known(const Node& n, bool soft) {
    if (n.index >= 0 || soft) return {};
    return fail(Code::TemplateError, "line {}: no {} named '{}'", n.line,
                n.kind == NodeKind::Filter ? "filter" : "test", p_.strings[n.text].substr(0, 80));
  }
  Result<void> compile(NodeId id, Symbols& s, bool soft) {
    if (id == kNoNode) return {};
    if (stack_ends()) return whole();
    const Node n = at(id);
    switch (n.kind) {
      case NodeKind::Name: place(id, s); return {};
      case NodeKind::For: return compile_for(id, s);
      case NodeKind::Macro:
      case NodeKind::Generation: return compile_macro(id, s);
      case NodeKind::CallBlock: LOOM_TRY_VOID(compile_macro(id, s)); return compile(n.a, s, soft);
      case NodeKind::SetBlock:
      case NodeKind::FilterBlock: return compile_inner(id, s);
      case NodeKind::With: return compile_with(id, s);
      case NodeKind::Set:
        LOOM_TRY_VOID(compile(n.b, s, soft));
        place_target(n.a, s);
        return {};
      case NodeKind::Filter:
      case NodeKind::Test: LOOM_TRY_VOID(check_known(n, soft)); break;
      case NodeKind::Condition:
      case NodeKind::If: soft = true; break;
      default: break;
    }
    for (const NodeId child : {n.a, n.b, n.c, n.body, n.otherwise}) LOOM_TRY_VOID(compile(child, s, soft));
    return compile_list(n, s, soft);
  }

  // ---- small things
  bool mentions(NodeId id, std::uint32_t name) const {
    if (id == kNoNode || stack_ends()) return false;
    const Node& n = p_.nodes[id];
    if (n.kind == NodeKind::Name && n.text == name) return true;
    for (const NodeId child : {n.a, n.b, n.c, n.body, n.otherwise})
      if (mentions(child, name)) return true;
    for (std::uint32_t k = 0; k < n.count; ++k)
      if (mentions(item(n, k), name)) return true;
    return false;
  }

  ProgramData& p_;
  StackLimit stack_;
  mutable bool too_deep_ = false;
  std::deque<Symbols> all_;
  std::deque<std::map<std::uint32_t, std::int32_t>> slot_maps_;
  std::vector<std::int32_t> parents_;  // function -> the function around it
};

}  // namespace

Result<void> resolve_names(ProgramData& program) { return Resolver(program).run(); }

}  // namespace loom::jinja
