// SPDX-License-Identifier: Apache-2.0
#include "core/model/chat/lexer.h"

#include <algorithm>
#include <cctype>

#include "core/model/tokens/unicode.h"
#include "core/model/tokens/utf8.h"

namespace kvlab::chat {
namespace {

constexpr std::size_t kMostTemplate = std::size_t{1} << 20;

bool nameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool nameChar(char c) { return nameStart(c) || digit(c); }

/// One kind of line break, and the last one taken away, as Jinja does.
std::string normalised(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : m_source(normalised(source)) {}

  Result<std::vector<Token>> run() {
    while (m_at < m_source.size()) KV_TRY(next());
    push(TokenKind::End, "");
    return std::move(m_out);
  }

 private:
  std::string_view rest() const { return std::string_view(m_source).substr(m_at); }
  bool at(std::string_view what) const { return rest().starts_with(what); }
  void push(TokenKind kind, std::string text) { m_out.push_back({kind, std::move(text), m_line}); }
  void advance(std::size_t n) {
    m_line += static_cast<int>(std::count(m_source.begin() + static_cast<std::ptrdiff_t>(m_at),
                                          m_source.begin() + static_cast<std::ptrdiff_t>(m_at + n), '\n'));
    m_at += n;
  }
  Error bad(const std::string& why) const { return badTemplate(m_line, why); }

  Status next();
  void data(std::string_view text, char sign, bool variable);
  Status comment();
  Status tag(bool variable);
  bool closes(bool variable);
  Status inside();
  Status string(char quote);
  Status escape(std::string& out);
  void number();
  Status op();

  std::string m_source, m_open;  // brackets that are open in a tag
  std::size_t m_at = 0;
  int m_line = 1;
  bool m_lineStarts = true;  // the last tag has taken its line break
  std::vector<Token> m_out;
};

Status Lexer::next() {
  std::size_t begin = m_at;
  for (; begin < m_source.size(); ++begin) {
    const std::string_view here = std::string_view(m_source).substr(begin, 2);
    if (here == "{{" || here == "{%" || here == "{#") break;
  }
  const std::string_view text = rest().substr(0, begin - m_at);
  if (begin == m_source.size()) {
    push(TokenKind::Data, std::string(text));
    advance(text.size());
    return ok();
  }
  const char kind = m_source[begin + 1], sign = begin + 2 < m_source.size() ? m_source[begin + 2] : ' ';
  data(text, sign, kind == '{');
  advance(text.size() + 2);
  if (sign == '-' || sign == '+') advance(1);
  if (kind == '#') return comment();
  return tag(kind == '{');
}

/// The text before a tag.
void Lexer::data(std::string_view text, char sign, bool variable) {
  if (sign == '-') {
    text = stripped(text, false, true);
  } else if (sign != '+' && !variable) {
    const auto newline = text.rfind('\n');
    const std::size_t line = newline == text.npos ? 0 : newline + 1;
    if ((line > 0 || m_lineStarts) && stripped(text.substr(line), true, true).empty()) text = text.substr(0, line);
  }
  if (!text.empty()) push(TokenKind::Data, std::string(text));
}

Status Lexer::comment() {
  const auto end = rest().find("#}");
  if (end == std::string_view::npos) return bad("a comment does not end");
  const char sign = end > 0 ? rest()[end - 1] : ' ';
  advance(end + 2);
  m_lineStarts = false;
  if (sign == '-') {
    const auto before = rest().size();
    const auto blank = before - stripped(rest(), true, false).size();
    m_lineStarts = rest().substr(0, blank).ends_with('\n');
    advance(blank);
  } else if (sign != '+' && at("\n")) {
    advance(1);
    m_lineStarts = true;
  }
  return ok();
}

Status Lexer::tag(bool variable) {
  push(variable ? TokenKind::OutputBegin : TokenKind::BlockBegin, "");
  m_open.clear();
  const int line = m_line;
  while (m_at < m_source.size()) {
    if (m_open.empty() && closes(variable)) return ok();
    KV_TRY(inside());
  }
  return badTemplate(line, "a tag does not end");
}

bool Lexer::closes(bool variable) {
  const std::string_view close = variable ? "}}" : "%}";
  const bool minus = at(std::string("-") + std::string(close));
  const bool plus = !variable && at("+%}");
  if (!minus && !plus && !at(close)) return false;
  advance(close.size() + (minus || plus ? 1 : 0));
  push(variable ? TokenKind::OutputEnd : TokenKind::BlockEnd, "");
  m_lineStarts = false;
  if (minus) {
    const auto blank = rest().size() - stripped(rest(), true, false).size();
    m_lineStarts = rest().substr(0, blank).ends_with('\n');
    advance(blank);
  } else if (!variable && !plus && at("\n")) {
    advance(1);
    m_lineStarts = true;
  }
  return true;
}

Status Lexer::inside() {
  const char c = m_source[m_at];
  if (std::isspace(static_cast<unsigned char>(c))) return advance(1), ok();
  if (c == '\'' || c == '"') return string(c);
  if (digit(c)) return number(), ok();
  if (!nameStart(c)) return op();
  std::size_t end = m_at;
  while (end < m_source.size() && nameChar(m_source[end])) ++end;
  push(TokenKind::Name, m_source.substr(m_at, end - m_at));
  advance(end - m_at);
  return ok();
}

Status Lexer::string(char quote) {
  const int line = m_line;
  std::string out;
  for (advance(1); m_at < m_source.size() && m_source[m_at] != quote;) {
    if (m_source[m_at] == '\\') {
      KV_TRY(escape(out));
    } else {
      out += m_source[m_at];
      advance(1);
    }
  }
  if (m_at >= m_source.size()) return badTemplate(line, "a string does not end");
  advance(1);
  m_out.push_back({TokenKind::Text, std::move(out), line});
  return ok();
}

Status Lexer::escape(std::string& out) {
  const char c = m_at + 1 < m_source.size() ? m_source[m_at + 1] : '\0';
  constexpr std::string_view from = "nrtabfv\\'\"", to = "\n\r\t\a\b\f\v\\'\"";
  if (const auto place = from.find(c); c != '\0' && place != from.npos) {
    out += to[place];
    return advance(2), ok();
  }
  if (c == '\n') return advance(2), ok();
  if (c == 'N') return bad("escapes by the name of a character are not implemented");
  const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  const bool octal = c >= '0' && c <= '7';
  if (digits == 0 && !octal) {  // Python keeps unknown escapes
    out += '\\';
    return advance(1), ok();
  }
  std::size_t end = m_at + (octal ? 1 : 2);
  const std::size_t most = end + (octal ? 3 : digits);
  std::uint32_t code = 0;
  for (; end < std::min(most, m_source.size()); ++end) {
    const char d = m_source[end];
    if (octal ? !(d >= '0' && d <= '7') : !std::isxdigit(static_cast<unsigned char>(d))) break;
    code = code * (octal ? 8u : 16u) + static_cast<std::uint32_t>(digit(d) ? d - '0' : (d | 0x20) - 'a' + 10);
  }
  if ((!octal && end != most) || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    return bad("an escape in a string is no character");
  appendUtf8(out, code);
  return advance(end - m_at), ok();
}

void Lexer::number() {
  std::size_t end = m_at;
  const auto run = [&] {
    while (end < m_source.size() && (digit(m_source[end]) || m_source[end] == '_')) ++end;
  };
  run();
  bool real = false;
  if (end + 1 < m_source.size() && m_source[end] == '.' && digit(m_source[end + 1])) real = true, ++end, run();
  if (end + 1 < m_source.size() && (m_source[end] | 0x20) == 'e') {
    const std::size_t sign = m_source[end + 1] == '-' || m_source[end + 1] == '+' ? 1 : 0;
    if (end + 1 + sign < m_source.size() && digit(m_source[end + 1 + sign])) real = true, end += 1 + sign, run();
  }
  std::string text = m_source.substr(m_at, end - m_at);
  std::erase(text, '_');
  push(real ? TokenKind::Float : TokenKind::Int, std::move(text));
  advance(end - m_at);
}

Status Lexer::op() {
  for (const std::string_view two : {"//", "**", "==", "!=", ">=", "<="})
    if (at(two)) return push(TokenKind::Op, std::string(two)), advance(2), ok();
  const char c = m_source[m_at];
  if (std::string_view("+-*/%~[](){}<>=.:|,").find(c) == std::string_view::npos) {
    const auto length = static_cast<std::size_t>(std::max(codePointAt(m_source, m_at).length, 1));
    return bad("\"" + m_source.substr(m_at, length) + "\" has no meaning in a tag");
  }
  constexpr std::string_view opens = "([{", shuts = ")]}";
  if (opens.find(c) != opens.npos) m_open += c;
  if (const auto kind = shuts.find(c); kind != shuts.npos) {
    if (m_open.empty() || m_open.back() != opens[kind]) return bad(std::string("\"") + c + "\" closes nothing");
    m_open.pop_back();
  }
  push(TokenKind::Op, std::string(1, c));
  return advance(1), ok();
}

}  // namespace

Error badTemplate(int line, const std::string& why, const std::string& remedy) {
  return {"bad_template", "cannot use the chat template", "line " + std::to_string(line) + ": " + why, remedy};
}

bool isBlank(char32_t c) { return bpe::isSpace(c) || (c >= 0x1c && c <= 0x1f); }

std::string_view stripped(std::string_view text, bool left, bool right) {
  if (left) text.remove_prefix(bpe::leadingSpace(text, isBlank));
  if (right) text = text.substr(0, bpe::trailingSpace(text, isBlank));
  return text;
}

Result<std::vector<Token>> lex(std::string_view source) {
  if (source.size() > kMostTemplate)
    return badTemplate(
        1, "it has " + std::to_string(source.size()) + " bytes, the limit is " + std::to_string(kMostTemplate));
  if (const auto at = invalidUtf8At(source); at != source.npos)
    return badTemplate(
        1 + static_cast<int>(std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n')),
        "byte " + std::to_string(at) + " is not UTF-8");
  return Lexer(source).run();
}

}  // namespace kvlab::chat
