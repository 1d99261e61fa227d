// SPDX-License-Identifier: Apache-2.0
// Names of classes. PCRE2 would read a script as all characters that the script uses, and knows no long names of
// categories.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "core/model/tokens/oniguruma_parts.h"

namespace kvlab::bpe::onig {
namespace {

struct Named {
  std::string_view name, set;
};

constexpr std::array kPosix{
    Named{"alnum", R"(\p{Alphabetic}\p{Nd})"},
    Named{"alpha", R"(\p{Alphabetic})"},
    Named{"ascii", R"(\x{0}-\x{7f})"},
    Named{"blank", R"(\t\p{Zs})"},
    Named{"cntrl", R"(\p{Cc})"},
    Named{"digit", R"(\p{Nd})"},
    Named{"graph", R"(\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co})"},
    Named{"lower", R"(\p{Lowercase})"},
    Named{"print", R"(\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\p{Cf}\p{Co})"},
    Named{"punct", R"(\p{P}\p{S})"},
    Named{"space", R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"},
    Named{"upper", R"(\p{Uppercase})"},
    Named{"word", kWordInClass},
    Named{"xdigit", "0-9A-Fa-f"}};

constexpr std::array kProperties{Named{"any", R"(\x{0}-\x{10ffff})"},
                                 Named{"assigned", R"(\P{Cn})"},
                                 Named{"whitespace", kPosix[10].set},
                                 Named{"word", kWordSet},
                                 Named{"l", R"(\p{L})"},
                                 Named{"letter", R"(\p{L})"},
                                 Named{"lc", R"(\p{Lu}\p{Ll}\p{Lt})"},
                                 Named{"casedletter", R"(\p{Lu}\p{Ll}\p{Lt})"},
                                 Named{"lu", R"(\p{Lu})"},
                                 Named{"uppercaseletter", R"(\p{Lu})"},
                                 Named{"ll", R"(\p{Ll})"},
                                 Named{"lowercaseletter", R"(\p{Ll})"},
                                 Named{"lt", R"(\p{Lt})"},
                                 Named{"titlecaseletter", R"(\p{Lt})"},
                                 Named{"lm", R"(\p{Lm})"},
                                 Named{"modifierletter", R"(\p{Lm})"},
                                 Named{"lo", R"(\p{Lo})"},
                                 Named{"otherletter", R"(\p{Lo})"},
                                 Named{"m", R"(\p{M})"},
                                 Named{"mark", R"(\p{M})"},
                                 Named{"combiningmark", R"(\p{M})"},
                                 Named{"mn", R"(\p{Mn})"},
                                 Named{"nonspacingmark", R"(\p{Mn})"},
                                 Named{"mc", R"(\p{Mc})"},
                                 Named{"spacingmark", R"(\p{Mc})"},
                                 Named{"me", R"(\p{Me})"},
                                 Named{"enclosingmark", R"(\p{Me})"},
                                 Named{"n", R"(\p{N})"},
                                 Named{"number", R"(\p{N})"},
                                 Named{"nd", R"(\p{Nd})"},
                                 Named{"decimalnumber", R"(\p{Nd})"},
                                 Named{"nl", R"(\p{Nl})"},
                                 Named{"letternumber", R"(\p{Nl})"},
                                 Named{"no", R"(\p{No})"},
                                 Named{"othernumber", R"(\p{No})"},
                                 Named{"p", R"(\p{P})"},
                                 Named{"punctuation", R"(\p{P})"},
                                 Named{"punct", R"(\p{P})"},
                                 Named{"pc", R"(\p{Pc})"},
                                 Named{"connectorpunctuation", R"(\p{Pc})"},
                                 Named{"pd", R"(\p{Pd})"},
                                 Named{"dashpunctuation", R"(\p{Pd})"},
                                 Named{"ps", R"(\p{Ps})"},
                                 Named{"openpunctuation", R"(\p{Ps})"},
                                 Named{"pe", R"(\p{Pe})"},
                                 Named{"closepunctuation", R"(\p{Pe})"},
                                 Named{"pi", R"(\p{Pi})"},
                                 Named{"initialpunctuation", R"(\p{Pi})"},
                                 Named{"pf", R"(\p{Pf})"},
                                 Named{"finalpunctuation", R"(\p{Pf})"},
                                 Named{"po", R"(\p{Po})"},
                                 Named{"otherpunctuation", R"(\p{Po})"},
                                 Named{"s", R"(\p{S})"},
                                 Named{"symbol", R"(\p{S})"},
                                 Named{"sm", R"(\p{Sm})"},
                                 Named{"mathsymbol", R"(\p{Sm})"},
                                 Named{"sc", R"(\p{Sc})"},
                                 Named{"currencysymbol", R"(\p{Sc})"},
                                 Named{"sk", R"(\p{Sk})"},
                                 Named{"modifiersymbol", R"(\p{Sk})"},
                                 Named{"so", R"(\p{So})"},
                                 Named{"othersymbol", R"(\p{So})"},
                                 Named{"z", R"(\p{Z})"},
                                 Named{"separator", R"(\p{Z})"},
                                 Named{"zs", R"(\p{Zs})"},
                                 Named{"spaceseparator", R"(\p{Zs})"},
                                 Named{"zl", R"(\p{Zl})"},
                                 Named{"lineseparator", R"(\p{Zl})"},
                                 Named{"zp", R"(\p{Zp})"},
                                 Named{"paragraphseparator", R"(\p{Zp})"},
                                 Named{"c", R"(\p{C})"},
                                 Named{"other", R"(\p{C})"},
                                 Named{"cc", R"(\p{Cc})"},
                                 Named{"control", R"(\p{Cc})"},
                                 Named{"cf", R"(\p{Cf})"},
                                 Named{"format", R"(\p{Cf})"},
                                 Named{"cn", R"(\p{Cn})"},
                                 Named{"unassigned", R"(\p{Cn})"},
                                 Named{"co", R"(\p{Co})"},
                                 Named{"privateuse", R"(\p{Co})"},
                                 Named{"cs", R"(\p{Cs})"},
                                 Named{"surrogate", R"(\p{Cs})"}};

template <class Table>
std::optional<Escape> found(const Table& table, std::string_view name) {
  const auto it = std::find_if(table.begin(), table.end(), [&](const Named& one) { return one.name == name; });
  if (it == table.end()) return {};
  return Escape{.set = std::string(it->set), .letters = true};
}

bool compiles(const std::string& expression) {
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                   PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr);
  pcre2_code_free(code);
  return code != nullptr;
}

}  // namespace

std::optional<Escape> posixSet(std::string_view name) { return found(kPosix, name); }

/// Case, spaces, hyphens and underscores of a name do not count.
std::optional<Escape> propertySet(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    if (!std::isalnum(static_cast<unsigned char>(c))) return {};
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (auto known = found(kProperties, plain)) return known;
  if (auto known = found(kPosix, plain)) return known;
  for (const std::string& set : {"\\p{sc:" + plain + "}", "\\p{" + plain + "}"})
    if (compiles(set)) return Escape{.set = set, .letters = true};
  return {};
}

}  // namespace kvlab::bpe::onig
