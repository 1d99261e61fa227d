// SPDX-License-Identifier: Apache-2.0
#include "core/model/chat/parser.h"

#include <algorithm>

namespace kvlab::chat {
namespace {

constexpr int kMostBlocks = 50;  // inside each other

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : m_in(std::move(tokens)) {}

  Result<Body> all() {
    auto body = KV_TRY(until({}));
    return body;
  }

 private:
  /// Statements up to one of the tags, whose name stays; up to the end where there are none.
  Result<Body> until(std::initializer_list<std::string_view> ends);
  Result<Statement> tag();
  Result<Statement> output();
  Result<Statement> ifTag();
  Result<Statement> forTag();
  Result<Statement> setTag();
  Result<Statement> macroTag();
  Result<Statement> blockOf(Step step, const char* end);
  Result<std::vector<std::string>> names(std::string_view end);
  Status close(std::string_view word);
  Status endTag() { return m_in.expect(TokenKind::BlockEnd, "one statement"); }
  Statement begin(Step step) const {
    Statement s;
    s.step = step;
    s.line = m_in.peek().line;
    return s;
  }

  ExpressionParser m_in;
  int m_blocks = 0, m_loops = 0;
};

Result<Body> Parser::until(std::initializer_list<std::string_view> ends) {
  if (++m_blocks > kMostBlocks) return m_in.bad("blocks stand too deep inside each other");
  Body out;
  while (true) {
    const Token& token = m_in.peek();
    if (token.kind == TokenKind::End) {
      if (ends.size() > 0) return m_in.bad("the block lacks its " + std::string(*(ends.end() - 1)));
      break;
    }
    if (token.kind == TokenKind::Data) {
      Statement s = begin(Step::Data);
      s.text = m_in.take().text;
      out.push_back(std::move(s));
    } else if (token.kind == TokenKind::OutputBegin) {
      out.push_back(KV_TRY(output()));
    } else {
      m_in.take();
      const std::string& word = m_in.peek().text;
      if (m_in.peek().kind == TokenKind::Name && std::find(ends.begin(), ends.end(), word) != ends.end()) break;
      out.push_back(KV_TRY(tag()));
    }
  }
  --m_blocks;
  return out;
}

Status Parser::close(std::string_view word) {
  if (!m_in.skipName(word)) return m_in.unexpected();
  return endTag();
}

Result<Statement> Parser::output() {
  m_in.take();
  Statement s = begin(Step::Output);
  s.value = KV_TRY(m_in.tuple());
  KV_TRY(m_in.expect(TokenKind::OutputEnd, "one expression"));
  return s;
}

Result<Statement> Parser::tag() {
  const auto word = KV_TRY(m_in.name());
  if (word == "if") return ifTag();
  if (word == "for") return forTag();
  if (word == "set") return setTag();
  if (word == "macro") return macroTag();
  if (word == "generation") return blockOf(Step::Generation, "endgeneration");
  if (word == "break" || word == "continue") {
    Statement s = begin(word == "break" ? Step::Break : Step::Continue);
    if (m_loops == 0) return m_in.bad("\"" + word + "\" stands outside of a loop");
    KV_TRY(endTag());
    return s;
  }
  if (word.starts_with("end") || word == "else" || word == "elif") return m_in.bad("\"" + word + "\" closes no block");
  return m_in.bad("the tag \"" + word.substr(0, 40) + "\" is not implemented");
}

Result<Statement> Parser::ifTag() {
  Statement s = begin(Step::If);
  do {
    auto condition = KV_TRY(m_in.tuple());
    KV_TRY(endTag());
    auto body = KV_TRY(until({"elif", "else", "endif"}));
    s.branches.emplace_back(std::move(condition), std::move(body));
  } while (m_in.skipName("elif"));
  if (m_in.skipName("else")) {
    KV_TRY(endTag());
    s.otherwise = KV_TRY(until({"endif"}));
  }
  KV_TRY(close("endif"));
  return s;
}

Result<std::vector<std::string>> Parser::names(std::string_view end) {
  std::vector<std::string> out;
  const bool brackets = m_in.skipOp("(");
  do {
    if (m_in.peek().name(end) || m_in.peek().op(end)) break;
    out.push_back(KV_TRY(m_in.name()));
  } while (m_in.skipOp(","));
  if (brackets) KV_TRY(m_in.expectOp(")"));
  return out;
}

Result<Statement> Parser::forTag() {
  Statement s = begin(Step::For);
  s.targets = KV_TRY(names("in"));
  if (!m_in.skipName("in")) return m_in.unexpected();
  s.value = KV_TRY(m_in.tuple(false));
  if (m_in.skipName("if")) s.condition = KV_TRY(m_in.expression());
  if (m_in.peek().name("recursive")) return m_in.bad("recursive loops are not implemented");
  KV_TRY(endTag());
  ++m_loops;
  s.body = KV_TRY(until({"else", "endfor"}));
  --m_loops;
  if (m_in.skipName("else")) {
    KV_TRY(endTag());
    s.otherwise = KV_TRY(until({"endfor"}));
  }
  KV_TRY(close("endfor"));
  return s;
}

Result<Statement> Parser::setTag() {
  Statement s = begin(Step::Set);
  s.targets = KV_TRY(names("="));
  if (m_in.skipOp(".")) {
    if (s.targets.size() != 1) return m_in.unexpected();
    s.text = KV_TRY(m_in.name());
  }
  if (m_in.skipOp("=")) {
    s.value = KV_TRY(m_in.tuple());
    KV_TRY(endTag());
    return s;
  }
  if (m_in.peek().op("|")) return m_in.bad("a filter behind the name of a set block is not implemented");
  if (s.targets.size() != 1) return m_in.unexpected();
  KV_TRY(endTag());
  s.step = Step::SetBlock;
  s.body = KV_TRY(until({"endset"}));
  KV_TRY(close("endset"));
  return s;
}

Result<Statement> Parser::macroTag() {
  Statement s = begin(Step::Macro);
  s.text = KV_TRY(m_in.name());
  KV_TRY(m_in.expectOp("("));
  while (!m_in.skipOp(")")) {
    if (!s.parameters.empty()) KV_TRY(m_in.expectOp(","));
    if (m_in.skipOp(")")) break;
    auto parameter = KV_TRY(m_in.name());
    ExpressionPtr otherwise;
    if (m_in.skipOp("=")) otherwise = KV_TRY(m_in.expression());
    s.parameters.emplace_back(std::move(parameter), std::move(otherwise));
  }
  KV_TRY(endTag());
  const int loops = std::exchange(m_loops, 0);
  s.body = KV_TRY(until({"endmacro"}));
  m_loops = loops;
  m_in.skipName("endmacro");
  if (m_in.peek().kind == TokenKind::Name) m_in.take();  // its name again
  KV_TRY(endTag());
  return s;
}

Result<Statement> Parser::blockOf(Step step, const char* end) {
  Statement s = begin(step);
  KV_TRY(endTag());
  s.body = KV_TRY(until({std::string_view(end)}));
  KV_TRY(close(end));
  return s;
}

}  // namespace

Result<Body> parse(std::string_view source) { return Parser(KV_TRY(lex(source))).all(); }

}  // namespace kvlab::chat
