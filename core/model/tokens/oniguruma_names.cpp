// SPDX-License-Identifier: Apache-2.0
// Names of classes. PCRE2 would read a script as all characters that the script uses, and knows no long names of
// categories.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "core/model/tokens/oniguruma.h"

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

constexpr std::array kProperties{Named{"any", R"(\x{0}-\x{10ffff})"},  Named{"assigned", R"(\P{Cn})"},
                                 Named{"whitespace", kPosix[10].set},  Named{"word", kWordSet},
                                 Named{"lc", R"(\p{Lu}\p{Ll}\p{Lt})"}, Named{"casedletter", R"(\p{Lu}\p{Ll}\p{Lt})"},
                                 Named{"combiningmark", R"(\p{M})"},   Named{"punct", R"(\p{P})"}};

/// General categories as PCRE2 names them, and their long names.
constexpr std::pair<std::string_view, std::string_view> kCategories[] = {{"L", "letter"},
                                                                         {"Lu", "uppercaseletter"},
                                                                         {"Ll", "lowercaseletter"},
                                                                         {"Lt", "titlecaseletter"},
                                                                         {"Lm", "modifierletter"},
                                                                         {"Lo", "otherletter"},
                                                                         {"M", "mark"},
                                                                         {"Mn", "nonspacingmark"},
                                                                         {"Mc", "spacingmark"},
                                                                         {"Me", "enclosingmark"},
                                                                         {"N", "number"},
                                                                         {"Nd", "decimalnumber"},
                                                                         {"Nl", "letternumber"},
                                                                         {"No", "othernumber"},
                                                                         {"P", "punctuation"},
                                                                         {"Pc", "connectorpunctuation"},
                                                                         {"Pd", "dashpunctuation"},
                                                                         {"Ps", "openpunctuation"},
                                                                         {"Pe", "closepunctuation"},
                                                                         {"Pi", "initialpunctuation"},
                                                                         {"Pf", "finalpunctuation"},
                                                                         {"Po", "otherpunctuation"},
                                                                         {"S", "symbol"},
                                                                         {"Sm", "mathsymbol"},
                                                                         {"Sc", "currencysymbol"},
                                                                         {"Sk", "modifiersymbol"},
                                                                         {"So", "othersymbol"},
                                                                         {"Z", "separator"},
                                                                         {"Zs", "spaceseparator"},
                                                                         {"Zl", "lineseparator"},
                                                                         {"Zp", "paragraphseparator"},
                                                                         {"C", "other"},
                                                                         {"Cc", "control"},
                                                                         {"Cf", "format"},
                                                                         {"Cn", "unassigned"},
                                                                         {"Co", "privateuse"},
                                                                         {"Cs", "surrogate"}};

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
  const auto lower = [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); };
  std::string plain;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    if (!std::isalnum(static_cast<unsigned char>(c))) return {};
    plain += lower(c);
  }
  if (auto known = found(kProperties, plain)) return known;
  for (const auto& [category, full] : kCategories)
    if (plain == full || std::ranges::equal(plain, category, {}, {}, lower))
      return Escape{.set = "\\p{" + std::string(category) + "}", .letters = true};
  if (auto known = found(kPosix, plain)) return known;
  for (const std::string& set : {"\\p{sc:" + plain + "}", "\\p{" + plain + "}"})
    if (compiles(set)) return Escape{.set = set, .letters = true};
  return {};
}

}  // namespace kvlab::bpe::onig
