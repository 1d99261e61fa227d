// SPDX-License-Identifier: Apache-2.0
// The grammar of chat templates: the part of Jinja that templates of models use. Anything else is refused by name. Any
// thread.
#pragma once
#include "core/model/chat/lexer.h"
#include "core/model/chat/nodes.h"

namespace kvlab::chat {

/// Expressions, from loose to tight: choice, or, and, not, comparison, + -, ~, * / // %, **, sign, postfix, filter and
/// test. Reads tokens forward. Lives for one parse.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : m_tokens(std::move(tokens)) {}

  /// a if b else c
  Result<ExpressionPtr> expression();
  /// The same with commas: a tuple where there is one; `choices` = false leaves "if" to the caller.
  Result<ExpressionPtr> tuple(bool choices = true);
  Result<std::string> name();
  Result<ExpressionPtr> primary();

  const Token& peek(std::size_t ahead = 0) const { return m_tokens[std::min(m_at + ahead, m_tokens.size() - 1)]; }
  Token take();
  bool skipOp(std::string_view op);
  bool skipName(std::string_view word);
  Status expectOp(std::string_view op);
  Status expect(TokenKind kind, const char* what);
  Error bad(const std::string& why) const { return badTemplate(peek().line, why); }
  Error unexpected() const;

 private:
  using Rule = Result<ExpressionPtr> (ExpressionParser::*)();

  Result<ExpressionPtr> disjunction();
  Result<ExpressionPtr> conjunction();
  Result<ExpressionPtr> negation();
  Result<ExpressionPtr> comparison();
  Result<ExpressionPtr> sum();
  Result<ExpressionPtr> concatenation();
  Result<ExpressionPtr> product();
  Result<ExpressionPtr> power();
  Result<ExpressionPtr> sign(bool filters);
  Result<ExpressionPtr> signWithFilters() { return sign(true); }
  Result<ExpressionPtr> binary(std::initializer_list<std::string_view> ops, Rule next);
  Result<ExpressionPtr> literal();
  Result<ExpressionPtr> strings();
  Result<ExpressionPtr> list(std::string_view close, int line);
  Result<ExpressionPtr> mapping(int line);
  Result<ExpressionPtr> postfix(ExpressionPtr on);
  Result<ExpressionPtr> filters(ExpressionPtr on);
  Result<ExpressionPtr> subscript(ExpressionPtr on);
  Result<ExpressionPtr> test(ExpressionPtr on);
  Status arguments(Expression& call);
  Result<std::string> comparator();
  /// Fills the depth; an error where the tree grows too deep.
  Result<ExpressionPtr> made(Expression e) const;

  std::vector<Token> m_tokens;
  std::size_t m_at = 0;
  int m_nested = 0;
};

/// Errors: bad_template.
Result<Body> parse(std::string_view source);

}  // namespace kvlab::chat
