#include "text/template/parser.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <unordered_set>
#include <map>

#include "core/stack_limit.h"
#include "text/template/builtins.h"
#include "text/template/lexer.h"

namespace loom::jinja {
namespace {

constexpr int kMaxNesting = 100;  // blocks in blocks, brackets in brackets
constexpr int kMaxHeight = 600;   // of the tree: a.b.c... and not not not... count

// LOOM_TRY for the many places that need a node id.
#define PARSE(name, ...) LOOM_TRY(const NodeId name, __VA_ARGS__)

class Parser {
 public:
  Parser(std::vector<Token> tokens, ProgramData& program) : tokens_(std::move(tokens)), p_(program) {
    for (const char* special : {"loop", "caller", "kwargs", "varargs"}) string_id(special);  // SpecialName
  }

  Result<void> run() {
    PARSE(root, block({}));
    p_.root = root;
    return {};
  }

 private:
  using Ids = std::vector<NodeId>;
  using Parsed = Result<NodeId>;

  // ---- tokens
  const Token& now() const { return tokens_[pos_]; }
  const Token& ahead() const { return tokens_[std::min(pos_ + 1, tokens_.size() - 1)]; }
  const Token& take() { return tokens_[now().kind == TokenKind::End ? pos_ : pos_++]; }
  static bool is_op(const Token& t, std::string_view op) { return t.kind == TokenKind::Operator && t.text == op; }
  static bool is_name(const Token& t, std::string_view name) { return t.kind == TokenKind::Name && t.text == name; }
  bool op(std::string_view o) const { return is_op(now(), o); }
  bool name(std::string_view n) const { return is_name(now(), n); }
  bool skip_op(std::string_view o) { return op(o) && (take(), true); }
  bool skip_name(std::string_view n) { return name(n) && (take(), true); }

  template <class... Args>
  tl::unexpected<Error> error(fmt::format_string<Args...> text, Args&&... args) const {
    return fail(Code::TemplateError, "line {}: {}", now().line, fmt::format(text, std::forward<Args>(args)...));
  }
  std::string describe() const {
    const Token& t = now();
    switch (t.kind) {
      case TokenKind::Data: return "text";
      case TokenKind::VariableBegin: return "'{{'";
      case TokenKind::VariableEnd: return "'}}'";
      case TokenKind::BlockBegin: return "'{%'";
      case TokenKind::BlockEnd: return "'%}'";
      case TokenKind::End: return "the end of the template";
      case TokenKind::String: return "a string";
      default: return fmt::format("'{}'", t.text.substr(0, 40));
    }
  }
  Result<void> expect_op(std::string_view o) {
    if (!skip_op(o)) return error("expected '{}', got {}", o, describe());
    return {};
  }
  Result<std::string> expect_name() {
    if (now().kind != TokenKind::Name) return error("expected a name, got {}", describe());
    return take().text;
  }
  Result<void> expect(TokenKind kind, std::string_view what) {
    if (now().kind != kind) return error("expected '{}', got {}", what, describe());
    take();
    return {};
  }

  // ---- nodes
  std::uint32_t string_id(const std::string& s) {
    const auto [it, fresh] = names_.try_emplace(s, static_cast<std::uint32_t>(p_.strings.size()));
    if (fresh) p_.strings.push_back(s);
    return it->second;
  }
  Node node(NodeKind kind, std::uint32_t line) const {
    Node n;
    n.kind = kind;
    n.line = line;
    return n;
  }
  Parsed add(Node n) {
    std::size_t height = 0;
    for (const NodeId id : {n.a, n.b, n.c, n.body, n.otherwise})
      if (id != kNoNode) height = std::max<std::size_t>(height, p_.nodes[id].height);
    for (std::uint32_t k = 0; k < n.count; ++k)
      height = std::max<std::size_t>(height, p_.nodes[p_.lists[n.first + k]].height);
    if (height + 1 > kMaxHeight)
      return fail(Code::LimitExceeded, "line {}: the template is nested deeper than {}", n.line, kMaxHeight);
    n.height = static_cast<std::uint16_t>(height + 1);
    p_.nodes.push_back(n);
    return static_cast<NodeId>(p_.nodes.size() - 1);
  }
  Parsed add(Node n, const Ids& list) {
    n.first = static_cast<std::uint32_t>(p_.lists.size());
    n.count = static_cast<std::uint32_t>(list.size());
    p_.lists.insert(p_.lists.end(), list.begin(), list.end());
    return add(n);
  }
  Parsed constant(Constant value, std::uint32_t line) {
    Node n = node(NodeKind::Constant, line);
    n.text = static_cast<std::uint32_t>(p_.constants.size());
    p_.constants.push_back(value);
    return add(n);
  }
  struct Nested {
    explicit Nested(int& d) : depth(d) { ++depth; }
    ~Nested() { --depth; }
    int& depth;
  };
  Result<void> check_depth() const {
    if (depth_ > kMaxNesting)
      return fail(Code::LimitExceeded, "line {}: nested deeper than {}", now().line, kMaxNesting);
    if (stack_.reached())
      return fail(Code::LimitExceeded, "line {}: nested deeper than the stack of this thread allows", now().line);
    return {};
  }

  // ---- statements
  using Ends = std::initializer_list<std::string_view>;
  Parsed block(Ends ends);
  // After a tag's words: "%}", then statements up to one of `ends`, which stays the current token.
  Parsed body(Ends ends);
  Parsed closed_body(std::string_view end);
  Parsed statement();
  Parsed parse_for();
  Parsed parse_if();
  Parsed parse_set();
  Parsed parse_with();
  Parsed parse_macro();
  Parsed parse_call_block();
  Parsed parse_filter_block();
  Parsed parse_generation();
  Parsed parse_print();
  Result<void> signature(MacroInfo& info);
  Parsed target(bool with_namespace, bool until_in);
  Result<void> assignable(NodeId id);

  // ---- expressions
  Parsed expression(bool conditional = true);
  Parsed conditional();
  Parsed either();
  Parsed both();
  Parsed negation();
  Parsed comparison();
  Parsed sum();
  Parsed concat();
  Parsed product();
  Parsed power();
  Parsed unary(bool with_filter = true);
  Parsed primary(bool with_namespace = false);
  Parsed operand();
  Parsed tuple(bool conditional, bool parenthesised, std::string_view end_name = {});
  Parsed list();
  Parsed dict();
  Parsed postfix(NodeId n);
  Parsed filters_and_tests(NodeId n);
  Parsed subscript(NodeId n);
  Parsed subscribed();
  Parsed call(NodeId n);
  Result<Ids> arguments();
  Parsed filter(NodeId subject);
  Parsed test(NodeId subject);
  Parsed chain(Parsed (Parser::*part)(), std::initializer_list<std::pair<std::string_view, Op>> ops);
  Result<std::string> dotted_name();

  std::vector<Token> tokens_;
  std::size_t pos_ = 0;
  int depth_ = 0;
  int loops_ = 0;      // for blocks around the current token, also outside of macros
  int breakable_ = 0;  // for blocks that break may leave
  StackLimit stack_;
  ProgramData& p_;
  std::map<std::string, std::uint32_t> names_;
};

// ---- statements

Result<NodeId> Parser::block(Ends ends) {
  const Nested nested(depth_);
  LOOM_TRY_VOID(check_depth());
  Ids statements, output;
  const std::uint32_t line = now().line;
  const auto flush = [&]() -> Result<void> {
    if (output.empty()) return {};
    PARSE(id, add(node(NodeKind::Output, p_.nodes[output[0]].line), output));
    output.clear();
    statements.push_back(id);
    return {};
  };
  while (now().kind != TokenKind::End) {
    if (now().kind == TokenKind::Data) {
      Node n = node(NodeKind::Data, now().line);
      n.text = static_cast<std::uint32_t>(p_.strings.size());
      p_.strings.push_back(take().text);
      PARSE(id, add(n));
      output.push_back(id);
    } else if (now().kind == TokenKind::VariableBegin) {
      take();
      PARSE(id, tuple(true, false));
      output.push_back(id);
      LOOM_TRY_VOID(expect(TokenKind::VariableEnd, "}}"));
    } else {
      LOOM_TRY_VOID(flush());
      take();  // "{%"
      if (now().kind == TokenKind::Name && std::find(ends.begin(), ends.end(), now().text) != ends.end())
        return add(node(NodeKind::Block, line), statements);
      PARSE(id, statement());
      statements.push_back(id);
      LOOM_TRY_VOID(expect(TokenKind::BlockEnd, "%}"));
    }
  }
  LOOM_TRY_VOID(flush());
  if (ends.size() > 0) return error("the template ends inside a block: \"{}\" is missing", *(ends.end() - 1));
  return add(node(NodeKind::Block, line), statements);
}

Result<NodeId> Parser::body(Ends ends) {
  skip_op(":");
  LOOM_TRY_VOID(expect(TokenKind::BlockEnd, "%}"));
  return block(ends);
}

Result<NodeId> Parser::closed_body(std::string_view end) {
  PARSE(id, body({end}));
  take();
  return id;
}

Result<NodeId> Parser::statement() {
  if (now().kind != TokenKind::Name) return error("expected the name of a tag, got {}", describe());
  const std::string tag = now().text;
  const std::uint32_t line = now().line;
  if (tag == "for") return parse_for();
  if (tag == "if") return parse_if();
  if (tag == "set") return parse_set();
  if (tag == "with") return parse_with();
  if (tag == "macro") return parse_macro();
  if (tag == "call") return parse_call_block();
  if (tag == "filter") return parse_filter_block();
  if (tag == "generation") return parse_generation();
  if (tag == "print") return parse_print();
  if (tag == "break" || tag == "continue") {
    if (breakable_ == 0) return error("'{}' outside of a loop", tag);
    take();
    return add(node(tag == "break" ? NodeKind::Break : NodeKind::Continue, line));
  }
  for (const std::string_view known : {"include", "import", "from", "extends", "block", "autoescape"})
    if (tag == known) return fail(Code::Unsupported, "line {}: '{}' is not supported in chat templates", line, tag);
  return error("unknown tag '{}'", tag.substr(0, 40));
}

Result<NodeId> Parser::parse_for() {
  Node n = node(NodeKind::For, take().line);
  ++loops_;  // the target may not be called "loop" either
  LOOM_TRY(n.a, target(false, true));
  if (!skip_name("in")) return error("expected 'in', got {}", describe());
  --loops_;
  LOOM_TRY(n.b, tuple(false, false, "recursive"));
  if (skip_name("if")) {
    LOOM_TRY(n.c, expression());
  }
  n.flag = skip_name("recursive");
  ++loops_, ++breakable_;
  LOOM_TRY(n.body, body({"endfor", "else"}));
  --loops_, --breakable_;
  if (take().text == "else") {
    ++loops_;
    LOOM_TRY(n.otherwise, closed_body("endfor"));
    --loops_;
  }
  if (n.flag) {
    n.index = static_cast<std::int32_t>(p_.macros.size());
    p_.macros.emplace_back();
  }
  return add(n);
}

Result<NodeId> Parser::parse_if() {
  Node n = node(NodeKind::Condition, take().line);
  Ids branches;
  while (true) {
    PARSE(test, tuple(false, false));
    PARSE(then, body({"elif", "else", "endif"}));
    branches.push_back(test);
    branches.push_back(then);
    const std::string end = take().text;
    if (end == "elif") continue;
    if (end == "else") {
      LOOM_TRY(n.otherwise, closed_body("endif"));
    }
    return add(n, branches);
  }
}

Result<NodeId> Parser::parse_set() {
  const std::uint32_t line = take().line;
  PARSE(where, target(true, false));
  if (skip_op("=")) {
    Node n = node(NodeKind::Set, line);
    n.a = where;
    LOOM_TRY(n.b, tuple(true, false));
    return add(n);
  }
  Node n = node(NodeKind::SetBlock, line);
  n.a = where;
  while (op("|")) {
    take();
    LOOM_TRY(n.b, filter(n.b));
  }
  LOOM_TRY(n.body, closed_body("endset"));
  return add(n);
}

Result<NodeId> Parser::parse_with() {
  Node n = node(NodeKind::With, take().line);
  Ids parts;
  while (now().kind != TokenKind::BlockEnd) {
    if (!parts.empty()) LOOM_TRY_VOID(expect_op(","));
    PARSE(where, target(false, false));
    LOOM_TRY_VOID(expect_op("="));
    PARSE(value, expression());
    parts.push_back(where);
    parts.push_back(value);
  }
  LOOM_TRY(n.body, closed_body("endwith"));
  return add(n, parts);
}

Result<void> Parser::signature(MacroInfo& info) {
  LOOM_TRY_VOID(expect_op("("));
  while (!op(")")) {
    if (!info.parameters.empty()) LOOM_TRY_VOID(expect_op(","));
    LOOM_TRY(const std::string parameter, expect_name());
    for (const Parameter& other : info.parameters)
      if (p_.strings[other.name] == parameter) return error("duplicate parameter '{}'", parameter);
    Parameter out;
    out.name = string_id(parameter);
    if (skip_op("=")) {
      LOOM_TRY(out.fallback, expression());
    } else if (!info.parameters.empty() && info.parameters.back().fallback != kNoNode) {
      return error("parameter '{}' without a default follows one that has a default", parameter);
    }
    if (info.parameters.size() >= 255) return error("a macro has more than 255 parameters");
    info.parameters.push_back(out);
  }
  take();
  return {};
}

// Defaults are children too: the list keeps them for the height and for resolve_names.
Result<NodeId> Parser::parse_macro() {
  Node n = node(NodeKind::Macro, take().line);
  LOOM_TRY(const std::string name, expect_name());
  n.text = string_id(name);
  MacroInfo info;
  LOOM_TRY_VOID(signature(info));
  const int breakable = std::exchange(breakable_, 0);
  LOOM_TRY(n.body, closed_body("endmacro"));
  breakable_ = breakable;
  Ids defaults;
  for (const Parameter& each : info.parameters)
    if (each.fallback != kNoNode) defaults.push_back(each.fallback);
  n.index = static_cast<std::int32_t>(p_.macros.size());
  p_.macros.push_back(std::move(info));
  return add(n, defaults);
}

Result<NodeId> Parser::parse_call_block() {
  Node n = node(NodeKind::CallBlock, take().line);
  n.text = string_id("");
  MacroInfo info;
  if (op("(")) LOOM_TRY_VOID(signature(info));
  LOOM_TRY(n.a, expression());
  if (p_.nodes[n.a].kind != NodeKind::Call) return error("a call block must call something");
  const int breakable = std::exchange(breakable_, 0);
  LOOM_TRY(n.body, closed_body("endcall"));
  breakable_ = breakable;
  Ids defaults;
  for (const Parameter& each : info.parameters)
    if (each.fallback != kNoNode) defaults.push_back(each.fallback);
  n.index = static_cast<std::int32_t>(p_.macros.size());
  p_.macros.push_back(std::move(info));
  return add(n, defaults);
}

Result<NodeId> Parser::parse_filter_block() {
  Node n = node(NodeKind::FilterBlock, take().line);
  LOOM_TRY(n.b, filter(kNoNode));
  while (skip_op("|")) {
    LOOM_TRY(n.b, filter(n.b));
  }
  LOOM_TRY(n.body, closed_body("endfilter"));
  return add(n);
}

Result<NodeId> Parser::parse_generation() {
  Node n = node(NodeKind::Generation, take().line);
  n.text = string_id("");
  const int breakable = std::exchange(breakable_, 0);
  LOOM_TRY(n.body, closed_body("endgeneration"));
  breakable_ = breakable;
  n.index = static_cast<std::int32_t>(p_.macros.size());
  p_.macros.emplace_back();
  return add(n);
}

Result<NodeId> Parser::parse_print() {
  const std::uint32_t line = take().line;
  Ids parts;
  while (now().kind != TokenKind::BlockEnd) {
    if (!parts.empty()) LOOM_TRY_VOID(expect_op(","));
    PARSE(id, expression());
    parts.push_back(id);
  }
  return add(node(NodeKind::Output, line), parts);
}

Result<void> Parser::assignable(NodeId id) {
  const Node& n = p_.nodes[id];
  if (n.kind == NodeKind::Name) {
    if (loops_ > 0 && p_.strings[n.text] == "loop")
      return error("can't assign to the special variable 'loop' in a for block");
    return {};
  }
  if (n.kind == NodeKind::NamespaceRef) return {};
  if (n.kind != NodeKind::Tuple) return error("can't assign to this expression");
  for (std::uint32_t k = 0; k < n.count; ++k) LOOM_TRY_VOID(assignable(p_.lists[n.first + k]));
  return {};
}

// Names with commas between: "a", "a, b", "(a, b), c", "ns.a".
Result<NodeId> Parser::target(bool with_namespace, bool until_in) {
  Ids parts;
  const std::uint32_t line = now().line;
  bool is_tuple = false;
  while (true) {
    if (now().kind == TokenKind::BlockEnd || op(")") || (until_in && name("in"))) break;
    PARSE(part, primary(with_namespace));
    parts.push_back(part);
    if (!op(",")) break;
    take();
    is_tuple = true;
  }
  if (parts.empty() && !is_tuple) return error("expected a name to assign to, got {}", describe());
  NodeId out = parts.empty() ? kNoNode : parts[0];
  if (is_tuple) {
    LOOM_TRY(out, add(node(NodeKind::Tuple, line), parts));
  }
  LOOM_TRY_VOID(assignable(out));
  return out;
}

// ---- expressions

Result<NodeId> Parser::expression(bool with_condition) {
  const Nested nested(depth_);
  LOOM_TRY_VOID(check_depth());
  return with_condition ? conditional() : either();
}

Result<NodeId> Parser::conditional() {
  PARSE(first, either());
  NodeId out = first;
  while (name("if")) {
    Node n = node(NodeKind::If, take().line);
    n.a = out;
    LOOM_TRY(n.b, either());
    if (skip_name("else")) {
      const Nested nested(depth_);
      LOOM_TRY_VOID(check_depth());
      LOOM_TRY(n.c, conditional());
    }
    LOOM_TRY(out, add(n));
  }
  return out;
}

Result<NodeId> Parser::either() {
  const std::uint32_t line = now().line;
  PARSE(first, both());
  Ids parts{first};
  while (skip_name("or")) {
    PARSE(next, both());
    parts.push_back(next);
  }
  return parts.size() == 1 ? Parsed(first) : add(node(NodeKind::Or, line), parts);
}

Result<NodeId> Parser::both() {
  const std::uint32_t line = now().line;
  PARSE(first, negation());
  Ids parts{first};
  while (skip_name("and")) {
    PARSE(next, negation());
    parts.push_back(next);
  }
  return parts.size() == 1 ? Parsed(first) : add(node(NodeKind::And, line), parts);
}

Result<NodeId> Parser::negation() {
  if (!name("not")) return comparison();
  const Nested nested(depth_);
  LOOM_TRY_VOID(check_depth());
  Node n = node(NodeKind::Not, take().line);
  LOOM_TRY(n.a, negation());
  return add(n);
}

Result<NodeId> Parser::comparison() {
  static constexpr std::pair<std::string_view, Op> kOps[] = {{"==", Op::Eq}, {"!=", Op::Ne}, {"<", Op::Lt},
                                                             {"<=", Op::Le}, {">", Op::Gt},  {">=", Op::Ge}};
  const std::uint32_t line = now().line;
  PARSE(first, sum());
  Ids operands;
  while (true) {
    Node n = node(NodeKind::Operand, now().line);
    for (const auto& [text, code] : kOps)
      if (op(text)) n.op = code;
    if (name("in")) n.op = Op::In;
    if (name("not") && is_name(ahead(), "in")) {
      take();
      n.op = Op::NotIn;
    }
    if (n.op == Op::None) break;
    take();
    LOOM_TRY(n.a, sum());
    PARSE(operand, add(n));
    operands.push_back(operand);
  }
  if (operands.empty()) return first;
  Node n = node(NodeKind::Compare, line);
  n.a = first;
  return add(n, operands);
}

Result<NodeId> Parser::chain(Parsed (Parser::*part)(), std::initializer_list<std::pair<std::string_view, Op>> ops) {
  const std::uint32_t line = now().line;
  PARSE(first, (this->*part)());
  Ids operands;
  while (true) {
    Node n = node(NodeKind::Operand, now().line);
    for (const auto& [text, code] : ops)
      if (op(text)) n.op = code;
    if (n.op == Op::None) break;
    take();
    LOOM_TRY(n.a, (this->*part)());
    PARSE(operand, add(n));
    operands.push_back(operand);
  }
  if (operands.empty()) return first;
  Node n = node(NodeKind::Chain, line);
  n.a = first;
  return add(n, operands);
}

Result<NodeId> Parser::sum() { return chain(&Parser::concat, {{"+", Op::Add}, {"-", Op::Sub}}); }
Result<NodeId> Parser::product() {
  return chain(&Parser::power, {{"*", Op::Mul}, {"/", Op::Div}, {"//", Op::FloorDiv}, {"%", Op::Mod}});
}
Result<NodeId> Parser::power() { return chain(&Parser::operand, {{"**", Op::Pow}}); }
Result<NodeId> Parser::operand() { return unary(true); }

Result<NodeId> Parser::concat() {
  const std::uint32_t line = now().line;
  PARSE(first, product());
  Ids parts{first};
  while (skip_op("~")) {
    PARSE(next, product());
    parts.push_back(next);
  }
  return parts.size() == 1 ? Parsed(first) : add(node(NodeKind::Concat, line), parts);
}

Result<NodeId> Parser::unary(bool with_filter) {
  const Nested nested(depth_);
  LOOM_TRY_VOID(check_depth());
  NodeId out = kNoNode;
  if (op("-") || op("+")) {
    Node n = node(op("-") ? NodeKind::Negative : NodeKind::Positive, now().line);
    take();
    LOOM_TRY(n.a, unary(false));
    LOOM_TRY(out, add(n));
  } else {
    LOOM_TRY(out, primary());
  }
  LOOM_TRY(out, postfix(out));
  if (with_filter) {
    LOOM_TRY(out, filters_and_tests(out));
  }
  return out;
}

Result<NodeId> Parser::primary(bool with_namespace) {
  const Token t = now();
  Constant c;
  switch (t.kind) {
    case TokenKind::Name: {
      take();
      if (t.text == "true" || t.text == "True")
        c.type = Constant::Type::True;
      else if (t.text == "false" || t.text == "False")
        c.type = Constant::Type::False;
      if (c.type != Constant::Type::None || t.text == "none" || t.text == "None") return constant(c, t.line);
      Node n = node(NodeKind::Name, t.line);
      n.text = string_id(t.text);
      if (with_namespace && skip_op(".")) {
        n.kind = NodeKind::NamespaceRef;
        LOOM_TRY(const std::string attribute, expect_name());
        n.text2 = string_id(attribute);
      }
      return add(n);
    }
    case TokenKind::String: {
      std::string text;
      while (now().kind == TokenKind::String) text += take().text;
      c.type = Constant::Type::String;
      c.text = static_cast<std::uint32_t>(p_.strings.size());
      p_.strings.push_back(std::move(text));
      return constant(c, t.line);
    }
    case TokenKind::Integer: {
      take();
      const auto value = parse_integer(t.text);
      if (!value)
        return fail(Code::Unsupported, "line {}: the integer {} does not fit in 64 bits", t.line, t.text.substr(0, 40));
      c.type = Constant::Type::Int;
      c.integer = *value;
      return constant(c, t.line);
    }
    case TokenKind::Float: {
      take();
      const auto value = parse_number(t.text);
      if (!value && t.text.size() > 100)
        return fail(Code::Unsupported, "line {}: the number {} is out of range", t.line, t.text.substr(0, 40));
      c.type = Constant::Type::Float;
      // the lexer saw to its form: it is too large, inf as in Python
      c.real = value.value_or(std::numeric_limits<double>::infinity());
      return constant(c, t.line);
    }
    default: break;
  }
  if (op("[")) return list();
  if (op("{")) return dict();
  if (!op("(")) return error("unexpected {}", describe());
  take();
  PARSE(out, tuple(true, true));
  LOOM_TRY_VOID(expect_op(")"));
  return out;
}

Result<NodeId> Parser::tuple(bool with_condition, bool parenthesised, std::string_view end_name) {
  const std::uint32_t line = now().line;
  Ids parts;
  bool is_tuple = false;
  while (true) {
    const TokenKind k = now().kind;
    if (k == TokenKind::VariableEnd || k == TokenKind::BlockEnd || op(")") || (!end_name.empty() && name(end_name)))
      break;
    PARSE(part, expression(with_condition));
    parts.push_back(part);
    if (!op(",")) break;
    take();
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!parts.empty()) return parts[0];
    if (!parenthesised) return error("expected an expression, got {}", describe());
  }
  return add(node(NodeKind::Tuple, line), parts);
}

Result<NodeId> Parser::list() {
  const std::uint32_t line = take().line;
  Ids parts;
  while (!op("]")) {
    if (!parts.empty()) LOOM_TRY_VOID(expect_op(","));
    if (op("]")) break;
    PARSE(part, expression());
    parts.push_back(part);
  }
  take();
  return add(node(NodeKind::List, line), parts);
}

Result<NodeId> Parser::dict() {
  const std::uint32_t line = take().line;
  Ids parts;
  while (!op("}")) {
    if (!parts.empty()) LOOM_TRY_VOID(expect_op(","));
    if (op("}")) break;
    PARSE(key, expression());
    LOOM_TRY_VOID(expect_op(":"));
    PARSE(value, expression());
    parts.push_back(key);
    parts.push_back(value);
  }
  take();
  return add(node(NodeKind::Dict, line), parts);
}

Result<NodeId> Parser::postfix(NodeId n) {
  while (true) {
    if (op(".") || op("[")) {
      LOOM_TRY(n, subscript(n));
    } else if (op("(")) {
      LOOM_TRY(n, call(n));
    } else {
      return n;
    }
  }
}

Result<NodeId> Parser::filters_and_tests(NodeId n) {
  while (true) {
    if (skip_op("|")) {
      LOOM_TRY(n, filter(n));
    } else if (name("is")) {
      LOOM_TRY(n, test(n));
    } else if (op("(")) {
      LOOM_TRY(n, call(n));
    } else {
      return n;
    }
  }
}

Result<NodeId> Parser::subscript(NodeId subject) {
  Node n = node(NodeKind::Item, now().line);
  n.a = subject;
  if (take().text == ".") {
    if (now().kind == TokenKind::Name) {
      n.kind = NodeKind::Attribute;
      n.text = string_id(take().text);
      return add(n);
    }
    if (now().kind != TokenKind::Integer) return error("expected a name or a number after '.', got {}", describe());
    LOOM_TRY(n.b, primary());
    return add(n);
  }
  Ids parts;
  while (!op("]")) {
    if (!parts.empty()) LOOM_TRY_VOID(expect_op(","));
    PARSE(part, subscribed());
    parts.push_back(part);
  }
  take();
  n.b = parts.empty() ? kNoNode : parts[0];
  if (parts.size() != 1) {
    for (const NodeId part : parts)
      if (p_.nodes[part].kind == NodeKind::Slice) return error("a slice cannot stand in a tuple");
    LOOM_TRY(n.b, add(node(NodeKind::Tuple, n.line), parts));
  }
  return add(n);
}

Result<NodeId> Parser::subscribed() {
  Node n = node(NodeKind::Slice, now().line);
  if (!op(":")) {
    LOOM_TRY(n.a, expression());
    if (!op(":")) return n.a;
  }
  take();
  if (!op(":") && !op("]") && !op(",")) {
    LOOM_TRY(n.b, expression());
  }
  if (skip_op(":") && !op("]") && !op(",")) {
    LOOM_TRY(n.c, expression());
  }
  return add(n);
}

Result<Parser::Ids> Parser::arguments() {
  LOOM_TRY_VOID(expect_op("("));
  Ids out;
  std::unordered_set<std::uint32_t> keywords;  // ids of strings; only looked up
  bool star = false, star_star = false;
  while (!op(")")) {
    if (!out.empty()) {
      LOOM_TRY_VOID(expect_op(","));
      if (op(")")) break;
    }
    Node n = node(NodeKind::Argument, now().line);
    if (skip_op("*")) {
      if (star || star_star) return error("invalid arguments: a second '*'");
      star = true;
      n.op = Op::Star;
    } else if (skip_op("**")) {
      if (star_star) return error("invalid arguments: a second '**'");
      star_star = true;
      n.op = Op::StarStar;
    } else if (now().kind == TokenKind::Name && is_op(ahead(), "=")) {
      if (star_star) return error("invalid arguments: a keyword after '**'");
      n.op = Op::Keyword;
      n.text = string_id(take().text);
      take();
      if (!keywords.insert(n.text).second) return error("keyword '{}' repeated", p_.strings[n.text]);
    } else {
      if (!keywords.empty() || star || star_star) return error("invalid arguments: a positional one after keywords");
      n.op = Op::Positional;
    }
    LOOM_TRY(n.a, expression());
    PARSE(id, add(n));
    out.push_back(id);
  }
  take();
  return out;
}

Result<NodeId> Parser::call(NodeId callee) {
  Node n = node(NodeKind::Call, now().line);
  n.a = callee;
  LOOM_TRY(const Ids list, arguments());
  return add(n, list);
}

Result<std::string> Parser::dotted_name() {
  LOOM_TRY(std::string out, expect_name());
  while (skip_op(".")) {
    LOOM_TRY(const std::string more, expect_name());
    out += "." + more;
  }
  return out;
}

Result<NodeId> Parser::filter(NodeId subject) {
  Node n = node(NodeKind::Filter, now().line);
  n.a = subject;
  LOOM_TRY(const std::string filter_name, dotted_name());
  n.text = string_id(filter_name);
  n.index = find_filter(filter_name);
  Ids list;
  if (op("(")) {
    LOOM_TRY(list, arguments());
  }
  return add(n, list);
}

Result<NodeId> Parser::test(NodeId subject) {
  Node n = node(NodeKind::Test, take().line);
  n.a = subject;
  n.flag = skip_name("not");
  LOOM_TRY(const std::string test_name, dotted_name());
  n.text = string_id(test_name);
  n.index = find_test(test_name);
  Ids list;
  const TokenKind k = now().kind;
  if (op("(")) {
    LOOM_TRY(list, arguments());
  } else if ((k == TokenKind::Name && !name("else") && !name("or") && !name("and")) || k == TokenKind::String ||
             k == TokenKind::Integer || k == TokenKind::Float || op("[") || op("{")) {
    if (name("is")) return error("tests cannot be chained with 'is'");
    Node argument = node(NodeKind::Argument, now().line);
    argument.op = Op::Positional;
    LOOM_TRY(argument.a, primary());
    LOOM_TRY(argument.a, postfix(argument.a));
    PARSE(id, add(argument));
    list.push_back(id);
  }
  return add(n, list);
}

#undef PARSE

}  // namespace

Result<ProgramData> parse_template(std::string source) {
  ProgramData program;
  LOOM_TRY(auto tokens, tokenize(source));
  program.source = std::move(source);
  LOOM_TRY_VOID(Parser(std::move(tokens), program).run());
  LOOM_TRY_VOID(resolve_names(program));
  return program;
}

}  // namespace loom::jinja
