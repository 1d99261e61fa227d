// SPDX-License-Identifier: Apache-2.0
// The grammar of chat templates: the part of Jinja that templates of models use. Anything else is refused by name.
#include <algorithm>
#include <array>
#include <charconv>

#include "core/model/chat/lexer.h"
#include "core/model/chat/nodes.h"

namespace kvlab::chat {
namespace {

constexpr int kMostBlocks = 50;  // inside each other
constexpr int kMostNested = 100, kMostDeep = 200;

/// Operators between two values, from loose to tight; "not" and comparisons stand in the empty place.
constexpr std::string_view kOperators[][4] = {{"or"}, {"and"}, {}, {"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}};
constexpr std::size_t kComparisons = 2;

ExpressionPtr literalOf(Value value, int line) {
  Expression e;
  e.line = line;
  e.value = std::move(value);
  return std::make_unique<const Expression>(std::move(e));
}

Expression node(Form form, int line, std::string name = {}, ExpressionPtr first = nullptr) {
  Expression e;
  e.form = form;
  e.line = line;
  e.name = std::move(name);
  if (first) e.parts.push_back(std::move(first));
  return e;
}

/// Reads tokens forward. Lives for one parse.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : m_tokens(std::move(tokens)) {}

  Result<Body> all() { return until({}); }

 private:
  // Tokens.

  const Token& peek(std::size_t ahead = 0) const { return m_tokens[std::min(m_at + ahead, m_tokens.size() - 1)]; }

  Token take() {
    Token token = peek();
    if (m_at + 1 < m_tokens.size()) ++m_at;
    return token;
  }

  bool skipOp(std::string_view op) { return peek().op(op) ? (take(), true) : false; }
  bool skipName(std::string_view word) { return peek().name(word) ? (take(), true) : false; }

  Error bad(const std::string& why) const { return badTemplate(peek().line, why); }

  Error unexpected() const {
    const Token& token = peek();
    switch (token.kind) {
      case TokenKind::End: return bad("the template ends too early");
      case TokenKind::BlockEnd:
      case TokenKind::OutputEnd: return bad("the tag ends too early");
      default: return bad("\"" + token.text.substr(0, 40) + "\" is not expected here");
    }
  }

  Status expectOp(std::string_view op) {
    if (skipOp(op)) return ok();
    return unexpected();
  }

  Status expect(TokenKind kind, const char* what) {
    if (peek().kind != kind) return bad(std::string("a tag holds more than ") + what);
    take();
    return ok();
  }

  Result<std::string> name() {
    if (peek().kind != TokenKind::Name) return unexpected();
    return take().text;
  }

  /// True before an item of a list, which has commas between its items, and perhaps one behind the last.
  Result<bool> another(bool first, std::string_view close) {
    if (skipOp(close)) return false;
    if (!first) KV_TRY(expectOp(","));
    return !skipOp(close);
  }

  // Expressions.

  /// Fills the depth; an error where the tree grows too deep.
  static Result<ExpressionPtr> made(Expression e) {
    for (const auto& part : e.parts)
      if (part) e.depth = std::max(e.depth, part->depth + 1);
    for (const auto& [key, part] : e.named)
      if (part) e.depth = std::max(e.depth, part->depth + 1);
    if (e.depth > kMostDeep) return badTemplate(e.line, "an expression has too many parts");
    return ExpressionPtr(std::make_unique<const Expression>(std::move(e)));
  }

  Status notTooDeep() const {
    if (m_nested > kMostNested) return bad("expressions stand too deep inside each other");
    return ok();
  }

  /// a if b else c
  Result<ExpressionPtr> expression() {
    const Nesting nesting(m_nested);
    KV_TRY(notTooDeep());
    auto value = KV_TRY(operation());
    while (peek().name("if")) {
      Expression e = node(Form::Choice, take().line, {}, std::move(value));
      e.parts.push_back(KV_TRY(operation()));
      if (skipName("else")) e.parts.push_back(KV_TRY(expression()));
      else e.parts.push_back(nullptr);
      value = KV_TRY(made(std::move(e)));
    }
    return value;
  }

  /// The same with commas: a tuple where there is one; `choices` = false leaves "if" to the caller.
  Result<ExpressionPtr> tuple(bool choices = true) {
    const int line = peek().line;
    const auto part = [&] { return choices ? expression() : operation(); };
    auto first = KV_TRY(part());
    if (!peek().op(",")) return first;
    Expression e = node(Form::Sequence, line, "tuple", std::move(first));
    while (skipOp(",")) {
      if (peek().kind == TokenKind::BlockEnd || peek().kind == TokenKind::OutputEnd || peek().op(")") || peek().op("="))
        break;
      e.parts.push_back(KV_TRY(part()));
    }
    return made(std::move(e));
  }

  /// Operators of a level of kOperators and tighter ones.
  Result<ExpressionPtr> operation(std::size_t level = 0) {
    if (level == kComparisons) return negation();
    if (level == std::size(kOperators)) return sign(true);
    auto left = KV_TRY(operation(level + 1));
    while (true) {
      const Token& token = peek();
      const bool known = token.kind == TokenKind::Op || token.kind == TokenKind::Name;
      if (!known || std::ranges::find(kOperators[level], token.text) == std::end(kOperators[level])) return left;
      Expression e = node(Form::Binary, token.line, token.text, std::move(left));
      take();
      e.parts.push_back(KV_TRY(operation(level + 1)));
      left = KV_TRY(made(std::move(e)));
    }
  }

  Result<ExpressionPtr> negation() {
    if (!peek().name("not")) return comparison();
    const Nesting nesting(m_nested);
    KV_TRY(notTooDeep());
    const int line = take().line;
    auto value = KV_TRY(negation());
    return made(node(Form::Unary, line, "not", std::move(value)));
  }

  /// Empty where no comparison goes on.
  std::string comparator() {
    for (const char* op : {"==", "!=", "<=", ">=", "<", ">"})
      if (skipOp(op)) return op;
    if (skipName("in")) return "in";
    if (!peek().name("not") || !peek(1).name("in")) return {};
    take();
    take();
    return "not in";
  }

  Result<ExpressionPtr> comparison() {
    auto first = KV_TRY(operation(kComparisons + 1));
    Expression e = node(Form::Chain, peek().line, {}, std::move(first));
    for (std::string op = comparator(); !op.empty(); op = comparator()) {
      e.named.emplace_back(std::move(op), nullptr);
      e.parts.push_back(KV_TRY(operation(kComparisons + 1)));
    }
    if (e.named.empty()) return std::move(e.parts.front());
    return made(std::move(e));
  }

  Result<ExpressionPtr> sign(bool withFilters) {
    ExpressionPtr value;
    if (peek().op("-") || peek().op("+")) {
      const Nesting nesting(m_nested);
      KV_TRY(notTooDeep());
      const Token token = take();
      value = KV_TRY(sign(false));
      value = KV_TRY(made(node(Form::Unary, token.line, token.text, std::move(value))));
    } else {
      value = KV_TRY(primary());
    }
    value = KV_TRY(postfix(std::move(value)));
    if (!withFilters) return value;
    return filters(std::move(value));
  }

  Result<ExpressionPtr> primary() {
    const Token& token = peek();
    const int line = token.line;
    if (token.kind == TokenKind::Text) return strings();
    if (token.kind == TokenKind::Int || token.kind == TokenKind::Float) return literal();
    if (token.kind == TokenKind::Name) {
      const std::string word = take().text;
      if (word == "true" || word == "True") return literalOf(Value::flag(true), line);
      if (word == "false" || word == "False") return literalOf(Value::flag(false), line);
      if (word == "none" || word == "None") return literalOf(Value::none(), line);
      return made(node(Form::Name, line, word));
    }
    if (skipOp("[")) return list(line);
    if (skipOp("{")) return mapping(line);
    if (!skipOp("(")) return unexpected();
    if (skipOp(")")) return made(node(Form::Sequence, line, "tuple"));
    auto inner = KV_TRY(tuple());
    KV_TRY(expectOp(")"));
    return inner;
  }

  Result<ExpressionPtr> strings() {
    const int line = peek().line;
    std::string text;
    while (peek().kind == TokenKind::Text) text += take().text;
    return literalOf(Value::string(std::move(text)), line);
  }

  Result<ExpressionPtr> literal() {
    const Token token = take();
    const char *begin = token.text.data(), *end = begin + token.text.size();
    std::int64_t whole = 0;
    double real = 0;
    const auto read =
        token.kind == TokenKind::Int ? std::from_chars(begin, end, whole) : std::from_chars(begin, end, real);
    if (read.ec != std::errc() || read.ptr != end)
      return badTemplate(token.line, "the number " + token.text + " is too large");
    return literalOf(token.kind == TokenKind::Int ? Value::number(whole) : Value::floating(real), token.line);
  }

  Result<ExpressionPtr> list(int line) {
    Expression e = node(Form::Sequence, line, "list");
    for (bool first = true; KV_TRY(another(first, "]")); first = false) e.parts.push_back(KV_TRY(expression()));
    return made(std::move(e));
  }

  Result<ExpressionPtr> mapping(int line) {
    Expression e = node(Form::Mapping, line);
    for (bool first = true; KV_TRY(another(first, "}")); first = false) {
      e.parts.push_back(KV_TRY(expression()));
      KV_TRY(expectOp(":"));
      e.parts.push_back(KV_TRY(expression()));
    }
    return made(std::move(e));
  }

  Result<ExpressionPtr> postfix(ExpressionPtr on) {
    while (true) {
      const int line = peek().line;
      if (skipOp(".")) {
        if (peek().kind == TokenKind::Int) return bad("items by a number behind a dot are not implemented");
        auto attribute = KV_TRY(name());
        on = KV_TRY(made(node(Form::Attribute, line, std::move(attribute), std::move(on))));
      } else if (skipOp("[")) {
        on = KV_TRY(subscript(std::move(on)));
      } else if (skipOp("(")) {
        on = KV_TRY(withArguments(node(Form::Call, line, {}, std::move(on))));
      } else {
        return on;
      }
    }
  }

  Result<ExpressionPtr> subscript(ExpressionPtr on) {
    Expression e = node(Form::Slice, peek().line, {}, std::move(on));
    bool slice = false;
    for (int place = 0; place < 3 && !peek().op("]"); ++place) {
      if (peek().op(":")) e.parts.push_back(nullptr);
      else e.parts.push_back(KV_TRY(expression()));
      if (peek().op(",")) return bad("subscripts with commas are not implemented");
      if (!skipOp(":")) break;
      slice = true;
    }
    KV_TRY(expectOp("]"));
    if (!slice && e.parts.size() < 2) return bad("a subscript is empty");
    if (!slice) e.form = Form::Item;
    else e.parts.resize(4);
    return made(std::move(e));
  }

  /// The call, filter or test with the arguments that follow behind "(".
  Result<ExpressionPtr> withArguments(Expression call) {
    for (bool first = true; KV_TRY(another(first, ")")); first = false) {
      if (peek().op("*") || peek().op("**")) return bad("arguments from a list are not implemented");
      if (peek().kind == TokenKind::Name && peek(1).op("=")) {
        auto key = take().text;
        take();
        call.named.emplace_back(std::move(key), KV_TRY(expression()));
      } else if (!call.named.empty()) {
        return bad("an argument without a name stands behind one with a name");
      } else {
        call.parts.push_back(KV_TRY(expression()));
      }
    }
    return made(std::move(call));
  }

  Result<ExpressionPtr> filters(ExpressionPtr on) {
    while (true) {
      const int line = peek().line;
      if (skipOp("|")) {
        auto filter = KV_TRY(name());
        Expression e = node(Form::Filter, line, std::move(filter), std::move(on));
        on = KV_TRY(skipOp("(") ? withArguments(std::move(e)) : made(std::move(e)));
      } else if (peek().name("is")) {
        on = KV_TRY(test(std::move(on)));
      } else if (skipOp("(")) {
        on = KV_TRY(withArguments(node(Form::Call, line, {}, std::move(on))));
      } else {
        return on;
      }
    }
  }

  /// True where the argument of a test may stand without brackets.
  bool argumentFollows() const {
    const Token& token = peek();
    if (token.kind == TokenKind::Name)
      return std::ranges::none_of(std::array{"else", "or", "and", "is", "if", "not", "in"},
                                  [&](const char* word) { return token.name(word); });
    return token.kind == TokenKind::Text || token.kind == TokenKind::Int || token.kind == TokenKind::Float ||
        token.op("[") || token.op("{");
  }

  Result<ExpressionPtr> test(ExpressionPtr on) {
    const int line = take().line;
    const bool inverted = skipName("not");
    auto word = KV_TRY(name());
    Expression e = node(Form::Test, line, std::move(word), std::move(on));
    const bool brackets = skipOp("(");
    if (!brackets && argumentFollows()) {
      auto argument = KV_TRY(primary());
      e.parts.push_back(KV_TRY(postfix(std::move(argument))));
    }
    auto out = KV_TRY(brackets ? withArguments(std::move(e)) : made(std::move(e)));
    if (!inverted) return out;
    return made(node(Form::Unary, line, "not", std::move(out)));
  }

  // Statements.

  Statement begin(Step step) const {
    Statement s;
    s.step = step;
    s.line = peek().line;
    return s;
  }

  Status endTag() { return expect(TokenKind::BlockEnd, "one statement"); }

  /// Statements up to one of the tags, whose name stays; up to the end where there are none.
  Result<Body> until(std::initializer_list<std::string_view> ends) {
    if (++m_blocks > kMostBlocks) return bad("blocks stand too deep inside each other");
    Body out;
    while (true) {
      const Token& token = peek();
      if (token.kind == TokenKind::End) {
        if (ends.size() > 0) return bad("the block lacks its " + std::string(*(ends.end() - 1)));
        break;
      }
      if (token.kind == TokenKind::Data) {
        Statement s = begin(Step::Data);
        s.text = take().text;
        out.push_back(std::move(s));
      } else if (token.kind == TokenKind::OutputBegin) {
        out.push_back(KV_TRY(output()));
      } else {
        take();
        const std::string& word = peek().text;
        if (peek().kind == TokenKind::Name && std::find(ends.begin(), ends.end(), word) != ends.end()) break;
        out.push_back(KV_TRY(tag()));
      }
    }
    --m_blocks;
    return out;
  }

  Status close(std::string_view word) {
    if (!skipName(word)) return unexpected();
    return endTag();
  }

  Result<Statement> output() {
    take();
    Statement s = begin(Step::Output);
    s.value = KV_TRY(tuple());
    KV_TRY(expect(TokenKind::OutputEnd, "one expression"));
    return s;
  }

  Result<Statement> tag() {
    const auto word = KV_TRY(name());
    if (word == "if") return ifTag();
    if (word == "for") return forTag();
    if (word == "set") return setTag();
    if (word == "macro") return macroTag();
    if (word == "generation") return blockOf(Step::Generation, "endgeneration");
    if (word == "break" || word == "continue") {
      Statement s = begin(word == "break" ? Step::Break : Step::Continue);
      if (m_loops == 0) return bad("\"" + word + "\" stands outside of a loop");
      KV_TRY(endTag());
      return s;
    }
    if (word.starts_with("end") || word == "else" || word == "elif") return bad("\"" + word + "\" closes no block");
    return bad("the tag \"" + word.substr(0, 40) + "\" is not implemented");
  }

  Result<Statement> ifTag() {
    Statement s = begin(Step::If);
    do {
      auto condition = KV_TRY(tuple());
      KV_TRY(endTag());
      auto body = KV_TRY(until({"elif", "else", "endif"}));
      s.branches.emplace_back(std::move(condition), std::move(body));
    } while (skipName("elif"));
    if (skipName("else")) {
      KV_TRY(endTag());
      s.otherwise = KV_TRY(until({"endif"}));
    }
    KV_TRY(close("endif"));
    return s;
  }

  Result<std::vector<std::string>> names(std::string_view end) {
    std::vector<std::string> out;
    const bool brackets = skipOp("(");
    do {
      if (peek().name(end) || peek().op(end)) break;
      out.push_back(KV_TRY(name()));
    } while (skipOp(","));
    if (brackets) KV_TRY(expectOp(")"));
    return out;
  }

  Result<Statement> forTag() {
    Statement s = begin(Step::For);
    s.targets = KV_TRY(names("in"));
    if (!skipName("in")) return unexpected();
    s.value = KV_TRY(tuple(false));
    if (skipName("if")) s.condition = KV_TRY(expression());
    if (peek().name("recursive")) return bad("recursive loops are not implemented");
    KV_TRY(endTag());
    ++m_loops;
    s.body = KV_TRY(until({"else", "endfor"}));
    --m_loops;
    if (skipName("else")) {
      KV_TRY(endTag());
      s.otherwise = KV_TRY(until({"endfor"}));
    }
    KV_TRY(close("endfor"));
    return s;
  }

  Result<Statement> setTag() {
    Statement s = begin(Step::Set);
    s.targets = KV_TRY(names("="));
    if (skipOp(".")) {
      if (s.targets.size() != 1) return unexpected();
      s.text = KV_TRY(name());
    }
    if (skipOp("=")) {
      s.value = KV_TRY(tuple());
      KV_TRY(endTag());
      return s;
    }
    if (peek().op("|")) return bad("a filter behind the name of a set block is not implemented");
    if (s.targets.size() != 1) return unexpected();
    KV_TRY(endTag());
    s.step = Step::SetBlock;
    s.body = KV_TRY(until({"endset"}));
    KV_TRY(close("endset"));
    return s;
  }

  Result<Statement> macroTag() {
    Statement s = begin(Step::Macro);
    s.text = KV_TRY(name());
    KV_TRY(expectOp("("));
    for (bool first = true; KV_TRY(another(first, ")")); first = false) {
      auto parameter = KV_TRY(name());
      ExpressionPtr otherwise;
      if (skipOp("=")) otherwise = KV_TRY(expression());
      s.parameters.emplace_back(std::move(parameter), std::move(otherwise));
    }
    KV_TRY(endTag());
    const int loops = std::exchange(m_loops, 0);
    s.body = KV_TRY(until({"endmacro"}));
    m_loops = loops;
    skipName("endmacro");
    if (peek().kind == TokenKind::Name) take();  // its name again
    KV_TRY(endTag());
    return s;
  }

  Result<Statement> blockOf(Step step, const char* end) {
    Statement s = begin(step);
    KV_TRY(endTag());
    s.body = KV_TRY(until({std::string_view(end)}));
    KV_TRY(close(end));
    return s;
  }

  const std::vector<Token> m_tokens;
  std::size_t m_at = 0;
  int m_nested = 0;  // expressions inside each other
  int m_blocks = 0, m_loops = 0;
};

}  // namespace

Result<Body> parse(std::string_view source) { return Parser(KV_TRY(lex(source))).all(); }

}  // namespace kvlab::chat
