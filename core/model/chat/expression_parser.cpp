// SPDX-License-Identifier: Apache-2.0
#include "core/model/chat/parser.h"

#include <algorithm>
#include <charconv>

namespace kvlab::chat {
namespace {

constexpr int kMostNested = 100, kMostDeep = 200;

ExpressionPtr literalOf(Value value, int line) {
  Expression e;
  e.line = line;
  e.value = std::move(value);
  return std::make_unique<const Expression>(std::move(e));
}

Expression node(Form form, int line, std::string name = {}) {
  Expression e;
  e.form = form;
  e.line = line;
  e.name = std::move(name);
  return e;
}

/// Counts how deep the calls of a parser are.
struct Nesting {
  explicit Nesting(int& count) : m_count(++count) {}
  ~Nesting() { --m_count; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool tooDeep() const { return m_count > kMostNested; }

 private:
  int& m_count;
};

}  // namespace

Token ExpressionParser::take() {
  Token token = peek();
  if (m_at + 1 < m_tokens.size()) ++m_at;
  return token;
}

bool ExpressionParser::skipOp(std::string_view op) { return peek().op(op) ? (take(), true) : false; }
bool ExpressionParser::skipName(std::string_view word) { return peek().name(word) ? (take(), true) : false; }

Error ExpressionParser::unexpected() const {
  const Token& token = peek();
  switch (token.kind) {
    case TokenKind::End: return bad("the template ends too early");
    case TokenKind::BlockEnd:
    case TokenKind::OutputEnd: return bad("the tag ends too early");
    default: return bad("\"" + token.text.substr(0, 40) + "\" is not expected here");
  }
}

Status ExpressionParser::expectOp(std::string_view op) {
  if (skipOp(op)) return ok();
  return unexpected();
}

Status ExpressionParser::expect(TokenKind kind, const char* what) {
  if (peek().kind != kind) return bad(std::string("a tag holds more than ") + what);
  take();
  return ok();
}

Result<std::string> ExpressionParser::name() {
  if (peek().kind != TokenKind::Name) return unexpected();
  return take().text;
}

Result<ExpressionPtr> ExpressionParser::made(Expression e) const {
  for (const auto& part : e.parts)
    if (part) e.depth = std::max(e.depth, part->depth + 1);
  for (const auto& [key, part] : e.named)
    if (part) e.depth = std::max(e.depth, part->depth + 1);
  if (e.depth > kMostDeep) return badTemplate(e.line, "an expression has too many parts");
  return ExpressionPtr(std::make_unique<const Expression>(std::move(e)));
}

Result<ExpressionPtr> ExpressionParser::expression() {
  const Nesting nesting(m_nested);
  if (nesting.tooDeep()) return bad("expressions stand too deep inside each other");
  auto value = KV_TRY(disjunction());
  while (peek().name("if")) {
    Expression e = node(Form::Choice, take().line);
    e.parts.push_back(std::move(value));
    e.parts.push_back(KV_TRY(disjunction()));
    if (skipName("else")) e.parts.push_back(KV_TRY(expression()));
    else e.parts.push_back(nullptr);
    value = KV_TRY(made(std::move(e)));
  }
  return value;
}

Result<ExpressionPtr> ExpressionParser::tuple(bool choices) {
  const int line = peek().line;
  const auto part = [&] { return choices ? expression() : disjunction(); };
  auto first = KV_TRY(part());
  if (!peek().op(",")) return first;
  Expression e = node(Form::Sequence, line, "tuple");
  e.parts.push_back(std::move(first));
  while (skipOp(",")) {
    if (peek().kind == TokenKind::BlockEnd || peek().kind == TokenKind::OutputEnd || peek().op(")") || peek().op("="))
      break;
    e.parts.push_back(KV_TRY(part()));
  }
  return made(std::move(e));
}

Result<ExpressionPtr> ExpressionParser::binary(std::initializer_list<std::string_view> ops, Rule next) {
  auto left = KV_TRY((this->*next)());
  while (true) {
    const Token& token = peek();
    const bool known = token.kind == TokenKind::Op || token.kind == TokenKind::Name;
    if (!known || std::find(ops.begin(), ops.end(), token.text) == ops.end()) return left;
    Expression e = node(Form::Binary, token.line, take().text);
    e.parts.push_back(std::move(left));
    e.parts.push_back(KV_TRY((this->*next)()));
    left = KV_TRY(made(std::move(e)));
  }
}

Result<ExpressionPtr> ExpressionParser::disjunction() { return binary({"or"}, &ExpressionParser::conjunction); }
Result<ExpressionPtr> ExpressionParser::conjunction() { return binary({"and"}, &ExpressionParser::negation); }

Result<ExpressionPtr> ExpressionParser::negation() {
  if (!peek().name("not")) return comparison();
  const Nesting nesting(m_nested);
  if (nesting.tooDeep()) return bad("expressions stand too deep inside each other");
  Expression e = node(Form::Unary, take().line, "not");
  e.parts.push_back(KV_TRY(negation()));
  return made(std::move(e));
}

/// Empty where no comparison goes on.
Result<std::string> ExpressionParser::comparator() {
  for (const char* op : {"==", "!=", "<=", ">=", "<", ">"})
    if (skipOp(op)) return std::string(op);
  if (skipName("in")) return std::string("in");
  if (!peek().name("not") || !peek(1).name("in")) return std::string();
  take();
  take();
  return std::string("not in");
}

Result<ExpressionPtr> ExpressionParser::comparison() {
  auto first = KV_TRY(sum());
  Expression e = node(Form::Chain, peek().line);
  e.parts.push_back(std::move(first));
  while (true) {
    auto op = KV_TRY(comparator());
    if (op.empty()) break;
    e.named.emplace_back(std::move(op), nullptr);
    e.parts.push_back(KV_TRY(sum()));
  }
  if (e.named.empty()) return std::move(e.parts.front());
  return made(std::move(e));
}

Result<ExpressionPtr> ExpressionParser::sum() { return binary({"+", "-"}, &ExpressionParser::concatenation); }
Result<ExpressionPtr> ExpressionParser::concatenation() { return binary({"~"}, &ExpressionParser::product); }
Result<ExpressionPtr> ExpressionParser::product() { return binary({"*", "/", "//", "%"}, &ExpressionParser::power); }
Result<ExpressionPtr> ExpressionParser::power() { return binary({"**"}, &ExpressionParser::signWithFilters); }

Result<ExpressionPtr> ExpressionParser::sign(bool withFilters) {
  ExpressionPtr value;
  if (peek().op("-") || peek().op("+")) {
    const Nesting nesting(m_nested);
    if (nesting.tooDeep()) return bad("expressions stand too deep inside each other");
    const Token token = take();
    Expression e = node(Form::Unary, token.line, token.text);
    e.parts.push_back(KV_TRY(sign(false)));
    value = KV_TRY(made(std::move(e)));
  } else {
    value = KV_TRY(primary());
  }
  value = KV_TRY(postfix(std::move(value)));
  if (!withFilters) return value;
  return filters(std::move(value));
}

Result<ExpressionPtr> ExpressionParser::primary() {
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
  if (skipOp("[")) return list("]", line);
  if (skipOp("{")) return mapping(line);
  if (!skipOp("(")) return unexpected();
  if (skipOp(")")) return made(node(Form::Sequence, line, "tuple"));
  auto inner = KV_TRY(tuple());
  KV_TRY(expectOp(")"));
  return inner;
}

Result<ExpressionPtr> ExpressionParser::strings() {
  const int line = peek().line;
  std::string text;
  while (peek().kind == TokenKind::Text) text += take().text;
  return literalOf(Value::string(std::move(text)), line);
}

Result<ExpressionPtr> ExpressionParser::literal() {
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

Result<ExpressionPtr> ExpressionParser::list(std::string_view close, int line) {
  Expression e = node(Form::Sequence, line, "list");
  while (!skipOp(close)) {
    if (!e.parts.empty()) KV_TRY(expectOp(","));
    if (skipOp(close)) break;
    e.parts.push_back(KV_TRY(expression()));
  }
  return made(std::move(e));
}

Result<ExpressionPtr> ExpressionParser::mapping(int line) {
  Expression e = node(Form::Mapping, line);
  while (!skipOp("}")) {
    if (!e.parts.empty()) KV_TRY(expectOp(","));
    if (skipOp("}")) break;
    e.parts.push_back(KV_TRY(expression()));
    KV_TRY(expectOp(":"));
    e.parts.push_back(KV_TRY(expression()));
  }
  return made(std::move(e));
}

Result<ExpressionPtr> ExpressionParser::postfix(ExpressionPtr on) {
  while (true) {
    const int line = peek().line;
    if (skipOp(".")) {
      Expression e = node(Form::Attribute, line);
      if (peek().kind == TokenKind::Int) return bad("items by a number behind a dot are not implemented");
      e.name = KV_TRY(name());
      e.parts.push_back(std::move(on));
      on = KV_TRY(made(std::move(e)));
    } else if (skipOp("[")) {
      on = KV_TRY(subscript(std::move(on)));
    } else if (skipOp("(")) {
      Expression e = node(Form::Call, line);
      e.parts.push_back(std::move(on));
      KV_TRY(arguments(e));
      on = KV_TRY(made(std::move(e)));
    } else {
      return on;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::subscript(ExpressionPtr on) {
  Expression e = node(Form::Slice, peek().line);
  e.parts.push_back(std::move(on));
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

/// Behind "(".
Status ExpressionParser::arguments(Expression& call) {
  const std::size_t before = call.parts.size();
  while (!skipOp(")")) {
    if (call.parts.size() > before || !call.named.empty()) KV_TRY(expectOp(","));
    if (skipOp(")")) break;
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
  return ok();
}

Result<ExpressionPtr> ExpressionParser::filters(ExpressionPtr on) {
  while (true) {
    const int line = peek().line;
    if (skipOp("|")) {
      Expression e = node(Form::Filter, line);
      e.name = KV_TRY(name());
      e.parts.push_back(std::move(on));
      if (skipOp("(")) KV_TRY(arguments(e));
      on = KV_TRY(made(std::move(e)));
    } else if (peek().name("is")) {
      on = KV_TRY(test(std::move(on)));
    } else if (skipOp("(")) {
      Expression e = node(Form::Call, line);
      e.parts.push_back(std::move(on));
      KV_TRY(arguments(e));
      on = KV_TRY(made(std::move(e)));
    } else {
      return on;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::test(ExpressionPtr on) {
  const int line = take().line;
  const bool inverted = skipName("not");
  Expression e = node(Form::Test, line);
  e.name = KV_TRY(name());
  e.parts.push_back(std::move(on));
  const Token& token = peek();
  const bool word = token.kind == TokenKind::Name && !token.name("else") && !token.name("or") && !token.name("and") &&
      !token.name("is") && !token.name("if") && !token.name("not") && !token.name("in");
  if (skipOp("(")) {
    KV_TRY(arguments(e));
  } else if (word || token.kind == TokenKind::Text || token.kind == TokenKind::Int || token.kind == TokenKind::Float ||
             token.op("[") || token.op("{")) {
    auto argument = KV_TRY(primary());
    e.parts.push_back(KV_TRY(postfix(std::move(argument))));
  }
  auto out = KV_TRY(made(std::move(e)));
  if (!inverted) return out;
  Expression n = node(Form::Unary, line, "not");
  n.parts.push_back(std::move(out));
  return made(std::move(n));
}

}  // namespace kvlab::chat
