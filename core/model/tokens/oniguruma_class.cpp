// SPDX-License-Identifier: Apache-2.0
// A class is an intersection (&&) of unions of characters, ranges and classes inside it. PCRE2 knows plain unions; an
// intersection becomes look-aheads before one of its parts.
#include <vector>

#include "core/model/tokens/oniguruma.h"
#include "core/model/tokens/utf8.h"

namespace kvlab::bpe::onig {
namespace {

constexpr int kMostDepth = 16;
/// Oniguruma adds what all members fold to, texts of several letters included.
constexpr const char* kCaseless = "more than characters and spaces in a class under (?i)";
constexpr const char *kAny = R"([\x{0}-\x{10ffff}])", *kNothing = R"([^\x{0}-\x{10ffff}])";

/// Characters of one union: inside of a PCRE2 class, and expressions of one character each.
struct Union {
  std::string plain;
  std::vector<std::string> others;

  bool simple() const { return others.empty() && !plain.empty(); }
  std::string text() const {
    if (others.empty()) return plain.empty() ? kNothing : "[" + plain + "]";
    std::string out = plain.empty() ? "(?:" : "(?:[" + plain + "]|";
    for (std::size_t i = 0; i < others.size(); ++i) out += (i ? "|" : "") + others[i];
    return out + ")";
  }
};

class ClassReader {
 public:
  ClassReader(Source& in, bool caseless, int depth) : m_in(in), m_caseless(caseless), m_depth(depth) {}

  std::string read() {
    if (m_depth > kMostDepth) return m_in.refuse("classes inside each other too often"), "";
    const bool negated = m_in.skip("^");
    if (m_in.starts("]") && m_in.text.find(']', m_in.at + 1) != m_in.text.npos) character(codePoint());
    bool closed = false;
    while (!m_in.done() && !(closed = m_in.skip("]"))) item();
    if (!closed) m_in.refuse("a class without its end");
    return text(negated);
  }

 private:
  std::string text(bool negated) const {
    if (m_parts.size() == 1 && m_parts[0].simple()) return (negated ? "[^" : "[") + m_parts[0].plain + "]";
    std::string all;
    for (std::size_t i = 0; i + 1 < m_parts.size(); ++i) all += "(?=" + m_parts[i].text() + ")";
    all += m_parts.back().text();
    return negated ? "(?:(?!" + all + ")" + kAny + ")" : "(?:" + all + ")";
  }

  void item() {
    if (m_caseless && (m_in.starts("&&") || m_in.starts("["))) return m_in.refuse(kCaseless);
    if (m_in.skip("&&")) return void(m_parts.emplace_back());
    if (m_in.starts("[:") && posix()) return;
    if (m_in.skip("[")) return m_parts.back().others.push_back(readClass(m_in, m_caseless, m_depth + 1));
    if (m_in.skip("\\")) return escape();
    character(codePoint());
  }

  char32_t codePoint() {
    const CodePoint c = codePointAt(m_in.text, m_in.at);
    if (c.length == 0) m_in.refuse("a byte that is not UTF-8");
    m_in.at += static_cast<std::size_t>(std::max(c.length, 1));
    return c.value;
  }

  bool posix() {
    const auto end = m_in.text.find(":]", m_in.at);
    if (end == m_in.text.npos) return false;
    std::string_view name = m_in.text.substr(m_in.at + 2, end - m_in.at - 2);
    const bool negated = name.starts_with('^');
    auto known = posixSet(negated ? name.substr(1) : name);
    if (!known) return false;
    m_in.at = end + 2;
    known->negated = negated;
    set(*known);
    return true;
  }

  /// Behind a backslash.
  void escape() {
    const auto read = readEscape(m_in);
    if (!read) return character(m_in.skip("b") ? U'\b' : codePoint());
    if (read->character) return character(*read->character);
    set(*read);
  }

  void set(Escape read) {
    if (read.set == kWordSet) read.set = kWordInClass;
    if (m_caseless && read.letters) m_in.refuse(kCaseless);
    if (read.negated) m_parts.back().others.push_back(bracketed(read));
    else m_parts.back().plain += read.set;
  }

  /// A character, or the range that it begins.
  void character(char32_t first) {
    if (m_caseless && foldsToSeveral(first)) m_in.refuse(kFolds);
    m_parts.back().plain += literal(first);
    const std::string_view rest = m_in.text.substr(std::min(m_in.at, m_in.text.size()));
    if (!rest.starts_with('-') || rest.starts_with("-]") || rest.starts_with("-&&")) return;
    if (rest.starts_with("-[")) return m_in.refuse("a class at the end of a range");
    ++m_in.at;
    char32_t last = 0;
    if (m_in.skip("\\")) {
      const auto read = readEscape(m_in);
      if (read && !read->character) return m_in.refuse("a class at the end of a range");
      last = read ? *read->character : m_in.skip("b") ? U'\b' : codePoint();
    } else {
      last = codePoint();
    }
    if (m_caseless && last >= 0x80) m_in.refuse(kCaseless);
    m_parts.back().plain += "-" + literal(last);
    if (m_in.starts("-") && !m_in.starts("-]")) ++m_in.at, m_parts.back().plain += "\\-";  // not a second range
  }

  Source& m_in;
  const bool m_caseless;
  const int m_depth;
  std::vector<Union> m_parts = std::vector<Union>(1);
};

}  // namespace

std::string readClass(Source& in, bool caseless, int depth) { return ClassReader(in, caseless, depth).read(); }

}  // namespace kvlab::bpe::onig
