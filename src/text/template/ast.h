#pragma once
// A parsed template: nodes in one array that refer to each other by index, so nothing recurses when it is freed.

#include <cstdint>
#include <string>
#include <vector>

namespace loom::jinja {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xffffffff;

enum class NodeKind : std::uint8_t {
  // Expressions. `a b c` are children, `text` an index into strings, `list` children in Program::lists.
  Name,          // text; slot
  Constant,      // constants[text]
  List,          // list
  Tuple,         // list
  Dict,          // list: key, value, key, value...
  Concat,        // list (~)
  Chain,         // a, list: arithmetic of one precedence, applied left to right; each item is an Operand
  Compare,       // a, list: Operands; also chains a < b < c
  Operand,       // op, a
  And,           // list
  Or,            // list
  Not,           // a
  Negative,      // a
  Positive,      // a
  If,            // a if b else c (expression)
  Attribute,     // a.text
  Item,          // a[b]
  Slice,         // [a:b:c]; only as b of Item
  Call,          // a(list); list holds Arguments
  Filter,        // a|text(list); index = entry of the filter table, a = kNoNode in filter blocks
  Test,          // a is text(list); index = entry of the test table
  Argument,      // a; op says positional, keyword (text), * or **
  NamespaceRef,  // text.text2 as an assignment target
  // Statements. `body`, `otherwise` are Block nodes.
  Data,         // strings[text]
  Output,       // list: Data and expressions
  Block,        // list of statements
  For,          // a target, b iterable, c test; body, otherwise; op: recursive, uses_loop
  Condition,    // if: list: test, Block, test, Block...; otherwise
  Set,          // a target, b value
  SetBlock,     // a target, b filter or kNoNode; body
  With,         // list: target, value...; body
  Macro,        // text name; list parameters; body
  CallBlock,    // a Call; body; a macro without name
  FilterBlock,  // b filter; body
  Generation,   // body: a call block of transformers that prints its body
  Break,
  Continue,
};

enum class Op : std::uint8_t {
  None,
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  In,
  NotIn,
  Positional,
  Keyword,
  Star,
  StarStar
};

struct Node {
  NodeKind kind = NodeKind::Block;
  Op op = Op::None;
  bool flag = false;         // For: recursive; Test: negated
  bool uses_loop = false;    // For: the body or the test names "loop"
  std::uint16_t height = 1;  // of the tree below: bounds every recursion over it
  std::uint32_t line = 0;
  std::uint32_t text = 0, text2 = 0;
  // filter or test entry; Name: frames up to the variable; macros: entry of ProgramData::macros
  std::int32_t index = -1;
  std::int32_t slot = -1;    // variable
  std::int32_t scope = -1;   // scope entered by the statement; For: of the body
  std::int32_t scope2 = -1;  // For: of the test;
  std::int32_t scope3 = -1;  // For: of the else branch
  NodeId a = kNoNode, b = kNoNode, c = kNoNode;
  NodeId body = kNoNode, otherwise = kNoNode;
  std::uint32_t first = 0, count = 0;  // in lists
};

struct Constant {
  enum class Type : std::uint8_t { None, False, True, Int, Float, String } type = Type::None;
  std::int64_t integer = 0;
  double real = 0;
  std::uint32_t text = 0;
};

// Initialisation of a variable when its scope is entered (decided at compile time, as in jinja2).
struct Load {
  enum class Kind : std::uint8_t { Parameter, Resolve, Alias, Undefined } kind = Kind::Undefined;
  std::int32_t slot = -1;       // in this frame
  std::int32_t from_slot = -1;  // Alias: the outer variable
  std::int32_t from_up = 0;     // Alias: frames up
  std::uint32_t name = 0;       // Resolve: strings[name]
};
struct Scope {
  std::vector<Load> loads;
};

// A function of jinja2's compiled code: the template, a macro, a call block, a recursive loop. Its variables live in
// one frame.
struct Function {
  std::int32_t slots = 0;
};

struct Parameter {
  std::uint32_t name = 0;
  std::int32_t slot = -1;
  NodeId fallback = kNoNode;
};
struct MacroInfo {
  std::vector<Parameter> parameters;
  bool uses_caller = false;
  std::int32_t function = -1, caller_slot = -1, kwargs_slot = -1, varargs_slot = -1;
};

// The first strings of every program.
enum SpecialName : std::uint32_t { kLoopName, kCallerName, kKwargsName, kVarargsName };

struct ProgramData {
  std::string source;
  std::vector<Node> nodes;
  std::vector<NodeId> lists;
  std::vector<std::string> strings;
  std::vector<Constant> constants;
  std::vector<Scope> scopes;
  std::vector<Function> functions;
  std::vector<MacroInfo> macros;  // Node::index of Macro, CallBlock, Generation and of a recursive For
  NodeId root = kNoNode;
};

}  // namespace loom::jinja
