// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/oniguruma.h"

#include <array>
#include <cctype>
#include <vector>

#include "core/model/tokens/utf8.h"

namespace kvlab::bpe {
namespace {

using namespace onig;

constexpr std::size_t kMostGroups = 200;

class Translator {
 public:
  explicit Translator(std::string_view expression) : m_in{expression} {}

  std::optional<std::string> run(std::string& why) {
    while (!m_in.done()) step();
    if (m_in.why.empty() && m_open.size() != 1) m_in.refuse("a group without its end");
    m_out += closes();
    if (m_in.why.empty()) return std::move(m_out);
    why = m_in.why;
    return {};
  }

 private:
  struct Group {
    std::size_t start = 0;  // in m_out
    bool caseless = false, dotAll = false;
    int options = 0;  // groups that stand for (?i) and the like, open until this one ends
  };

  void step() {
    const char c = m_in.text[m_in.at];
    if (m_in.skip("[")) return atom(readClass(m_in, m_open.back().caseless));
    if (m_in.skip("(")) return group();
    if (m_in.skip(")")) return closeGroup();
    if (m_in.skip("\\")) return escape();
    if (m_in.skip(".")) return atom(m_open.back().dotAll ? R"([\x{0}-\x{10ffff}])" : R"([^\n])");
    if (c == '*' || c == '+' || c == '?') return quantifier();
    if (c == '{' && interval()) return;
    if (c == '^' || c == '$' || c == '|') {
      ++m_in.at;
      m_out += c;
      m_atom = std::string::npos;
      m_before = 0;
      return;
    }
    const CodePoint point = codePointAt(m_in.text, m_in.at);
    if (point.length == 0) return m_in.refuse("a byte that is not UTF-8");
    m_in.at += static_cast<std::size_t>(point.length);
    character(point.value);
  }

  /// Behind "(".
  void group() {
    if (m_open.size() >= kMostGroups) return m_in.refuse("too many groups inside each other");
    Group next = m_open.back();
    next.options = 0;
    next.start = m_out.size();
    if (m_in.starts("*")) return m_in.refuse("a callout (*..)");
    if (!m_in.skip("?")) {
      m_out += "(";
    } else if (m_in.skip("#")) {
      const auto end = m_in.text.find(')', m_in.at);
      m_in.at = end == m_in.text.npos ? m_in.text.size() : end + 1;
      return;
    } else {
      constexpr std::array<std::string_view, 6> kKinds{":", "=", "!", ">", "<=", "<!"};
      std::string_view kind;
      for (const std::string_view one : kKinds)
        if (kind.empty() && m_in.skip(one)) kind = one;
      const bool named = kind.empty() && (m_in.starts("<") || m_in.starts("'"));
      if (kind.empty() && m_in.starts("~")) return m_in.refuse("the absent operator (?~..)");
      if (kind.empty() && (m_in.starts("(") || m_in.starts("{"))) return m_in.refuse("a condition or a callout");
      if (kind.empty() && !named) return options();
      m_out += "(?" + std::string(kind);
      if (named && !name()) return m_in.refuse("a name without its end");
    }
    m_open.push_back(next);
    m_atom = std::string::npos;
    m_before = 0;
  }

  /// <name> or 'name'.
  bool name() {
    const auto end = m_in.text.find(m_in.starts("<") ? '>' : '\'', m_in.at + 1);
    if (end == m_in.text.npos) return false;
    m_out += m_in.text.substr(m_in.at, end + 1 - m_in.at);
    m_in.at = end + 1;
    return true;
  }

  /// Behind "(?": letters of options, for the rest of the group, whose branches then belong to the options, or with a
  /// colon for a group of their own.
  void options() {
    Group next = m_open.back();
    next.options = 0;
    next.start = m_out.size();
    bool on = true;
    for (; !m_in.done() && !m_in.starts(")") && !m_in.starts(":"); ++m_in.at) {
      const char c = m_in.text[m_in.at];
      if (c == '-') on = false;
      else if (c == 'i') next.caseless = on;
      else if (c == 'm') next.dotAll = on;
      else return m_in.refuse(std::string("the option (?") + c + ")");
    }
    m_out += next.caseless ? "(?i:" : "(?-i:";
    m_atom = std::string::npos;
    m_before = 0;
    if (m_in.skip(":")) return m_open.push_back(next);
    if (!m_in.skip(")")) return m_in.refuse("options without their end");
    ++m_open.back().options;
    m_open.back().caseless = next.caseless;
    m_open.back().dotAll = next.dotAll;
  }

  void closeGroup() {
    if (m_open.size() == 1) return m_in.refuse("a ) without its group");
    m_out += closes() + ")";
    m_atom = m_open.back().start;
    m_repeated = false;
    m_before = 0;
    m_open.pop_back();
  }

  /// Behind a backslash.
  void escape() {
    if (const auto read = readEscape(m_in)) {
      if (read->character) return character(*read->character);
      return atom(bracketed(*read));
    }
    const char c = m_in.text[m_in.at];
    if (c == 'b' || c == 'B') return ++m_in.at, assertion(c);
    if (c == 'y' || c == 'Y' || c == 'g') return m_in.refuse(std::string("\\") + c);
    if (c == 'k') return m_in.refuse("a reference to a group by name");
    if (m_in.skip("N")) return atom(R"([^\n])");
    if (m_in.skip("O")) return atom(R"([\x{0}-\x{10ffff}])");
    if (m_in.skip("R")) return atom(R"((?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}]))");
    constexpr std::string_view kSame = "XKAZzG123456789";
    const CodePoint point = codePointAt(m_in.text, m_in.at);
    if (point.length == 0) return m_in.refuse("a byte that is not UTF-8");
    m_in.at += static_cast<std::size_t>(point.length);
    if (kSame.find(c) == kSame.npos) return character(point.value);
    atom(std::string("\\") + c);
    while (std::isdigit(static_cast<unsigned char>(c)) && !m_in.done() &&
           std::isdigit(static_cast<unsigned char>(m_in.text[m_in.at])))
      m_out += m_in.text[m_in.at++];
  }

  /// \b and \B: PCRE2 has fewer word characters.
  void assertion(char c) {
    const std::string word = "[" + std::string(kWordSet) + "]", is = "(?<=" + word + ")", is_not = "(?<!" + word + ")";
    const std::string here = "(?=" + word + ")", here_not = "(?!" + word + ")";
    atom(c == 'b' ? "(?:" + is + here_not + "|" + is_not + here + ")"
                  : "(?:" + is + here + "|" + is_not + here_not + ")");
  }

  void quantifier() {
    std::string times(1, m_in.text[m_in.at++]);
    if (m_in.starts("?") || m_in.starts("+")) times += m_in.text[m_in.at++];
    repeat(times);
  }

  /// {n}, {n,}, {n,m} and {,m}. A + behind them repeats once more, and so does a ? behind {n}; {5,3} is {3,5} and gives
  /// nothing back. Other braces are characters.
  bool interval() {
    Source ahead = m_in;
    const auto digits = [&] {
      std::string out;
      while (!ahead.done() && std::isdigit(static_cast<unsigned char>(ahead.text[ahead.at])))
        out += ahead.text[ahead.at++];
      return out;
    };
    ahead.skip("{");
    std::string least = digits();
    const bool comma = ahead.skip(",");
    std::string most = comma ? digits() : "";
    if (!ahead.skip("}") || (least.empty() && most.empty())) return false;
    if (least.size() > 5 || most.size() > 5) return m_in.refuse("a repetition beyond 99999"), true;
    m_in.at = ahead.at;
    if (least.empty()) least = "0";
    const bool swapped = !most.empty() && std::stol(least) > std::stol(most);
    if (swapped) std::swap(least, most);
    std::string times = "{" + least + (comma ? "," + most : "") + "}";
    if (swapped) times += "+";
    else if (comma && m_in.skip("?")) times += "?";
    repeat(times);
    return true;
  }

  /// Puts a repeated item into a group of its own, so that it can be repeated again.
  void repeat(const std::string& times) {
    if (m_atom == std::string::npos) return m_in.refuse("a repetition of nothing");
    if (m_repeated) m_out = m_out.substr(0, m_atom) + "(?:" + m_out.substr(m_atom) + ")";
    m_out += times;
    m_repeated = true;
    m_before = 0;
  }

  void character(char32_t c) {
    const char32_t before = m_before;
    atom(literal(c));
    if (!m_open.back().caseless) return;
    const auto lower = [](char32_t x) {
      return x < 0x80 ? static_cast<char32_t>(std::tolower(static_cast<int>(x))) : x;
    };
    m_before = lower(c);
    static constexpr std::array<std::u32string_view, 5> kPairs{U"ss", U"ff", U"fi", U"fl", U"st"};
    for (const std::u32string_view pair : kPairs)
      if (before == pair[0] && m_before == pair[1]) return m_in.refuse(kFolds);
    if (foldsToSeveral(c)) m_in.refuse(kFolds);
  }

  void atom(const std::string& text) {
    m_atom = m_out.size();
    m_repeated = false;
    m_before = 0;
    m_out += text;
  }

  std::string closes() const { return std::string(static_cast<std::size_t>(m_open.back().options), ')'); }

  Source m_in;
  std::string m_out;
  std::vector<Group> m_open{Group()};
  std::size_t m_atom = std::string::npos;  // begin of the last repeatable item; npos = none
  bool m_repeated = false;                 // it is repeated already
  char32_t m_before = 0;                   // the letter right before, under (?i)
};

}  // namespace

std::optional<std::string> pcreFromOniguruma(std::string_view expression, std::string& why) {
  return Translator(expression).run(why);
}

}  // namespace kvlab::bpe
