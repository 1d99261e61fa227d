// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/model/tokens/pattern.h"

#include <pcre2.h>

#include "core/model/tokens/oniguruma.h"
#include "core/model/tokens/tokenizer_files.h"
#include "core/model/tokens/utf8.h"

namespace kvlab::bpe {
namespace {

constexpr std::size_t kMaxExpression = 1 << 16;

template <class T, void (*Free)(T*)>
using Owned = std::unique_ptr<T, decltype([](T* p) { Free(p); })>;
using MatchData = Owned<pcre2_match_data, pcre2_match_data_free>;
using MatchContext = Owned<pcre2_match_context, pcre2_match_context_free>;
using CompileContext = Owned<pcre2_compile_context, pcre2_compile_context_free>;

/// Onward from an empty match.
std::size_t afterOne(std::string_view text, std::size_t at) {
  const int length = at < text.size() ? codePointAt(text, at).length : 0;
  return at + static_cast<std::size_t>(std::max(length, 1));
}

}  // namespace

Pattern Pattern::text(std::string literal) {
  Pattern p;
  p.m_literal = std::move(literal);
  return p;
}

std::optional<Pattern> Pattern::regex(const std::string& expression, std::string& why) {
  if (expression.size() > kMaxExpression) return why = "is too long", std::nullopt;
  const auto source = pcreFromOniguruma(expression, why);
  if (!source) return {};
  const CompileContext context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source->data()), source->size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &at, context.get());
  if (!code) {
    PCRE2_UCHAR text[128] = {};
    pcre2_get_error_message(error, text, sizeof text);
    why = std::string("does not compile: ") + reinterpret_cast<const char*>(text) + " at " + std::to_string(at);
    return {};
  }
  Pattern p;
  p.m_code = std::shared_ptr<const void>(
      code, [](const void* c) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(c))); });
  return p;
}

Result<Pattern> Pattern::fromJson(const JsonFields& step, const char* key) {
  if (!step.has(key)) return step.bad(key, "is missing");
  const auto& value = step.json().at(key);
  if (!value.is_object()) return step.bad(key, "is not an object");
  const JsonFields in = step.inside(value);
  if (in.has("String")) {
    auto literal = KV_TRY(in.text("String"));
    return text(std::move(literal));
  }
  const auto expression = KV_TRY(in.text("Regex"));
  std::string why;
  auto pattern = regex(expression, why);
  if (!pattern) return step.bad(key, why);
  return std::move(*pattern);
}

Result<std::vector<Span>> Pattern::cut(std::string_view text) const {
  if (text.empty()) return std::vector<Span>();
  if (m_code) return cutRegex(text);
  return cutLiteral(text);
}

std::vector<Span> Pattern::cutLiteral(std::string_view text) const {
  std::vector<Span> spans;
  std::size_t done = 0;
  for (std::size_t at = 0; !m_literal.empty() && (at = text.find(m_literal, done)) != text.npos;
       done = at + m_literal.size()) {
    if (at > done) spans.push_back({done, at, false});
    spans.push_back({at, at + m_literal.size(), true});
  }
  if (done < text.size()) spans.push_back({done, text.size(), false});
  return spans;
}

Result<std::vector<Span>> Pattern::cutRegex(std::string_view text) const {
  const auto* code = static_cast<const pcre2_code*>(m_code.get());
  const MatchData data(pcre2_match_data_create(1, nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), 1'000'000);
  pcre2_set_heap_limit(context.get(), 256 * 1024);  // KiB
  std::vector<Span> spans;
  std::size_t done = 0;
  bool any = false;  // true if `done` is the end of a match
  for (std::size_t from = 0; from <= text.size();) {
    const int rc = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, PCRE2_NO_UTF_CHECK,
                               data.get(), context.get());
    if (rc == PCRE2_ERROR_NOMATCH) break;
    if (rc < 0)
      return badText("the tokenizer's pattern gives up at byte " + std::to_string(from) + " (PCRE2 error " +
                         std::to_string(rc) + ")",
                     "break the text into shorter parts");
    const PCRE2_SIZE* at = pcre2_get_ovector_pointer(data.get());
    const std::size_t begin = at[0], end = at[1];
    if (begin > end || begin < done)  // \K can do that
      return badText("the tokenizer's pattern matches backwards", "use another tokenizer");
    if (begin == end && any && begin == done) {
      from = afterOne(text, from);
      continue;
    }
    if (begin > done) spans.push_back({done, begin, false});
    spans.push_back({begin, end, true});
    from = done = end;
    any = true;
  }
  if (done < text.size()) spans.push_back({done, text.size(), false});
  return spans;
}

Error Pattern::tooLong() { return badText("it grows beyond 16 MiB", "give a shorter text"); }

Result<std::string> Pattern::replace(std::string_view text, std::string_view by) const {
  const auto spans = KV_TRY(cut(text));
  std::size_t size = 0;
  for (const Span& s : spans) size += s.match ? by.size() : s.end - s.begin;
  if (size > kMaxGrown) return tooLong();
  std::string out;
  out.reserve(size);
  for (const Span& s : spans) out += s.match ? by : text.substr(s.begin, s.end - s.begin);
  return out;
}

}  // namespace kvlab::bpe
