// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/steps.h"

#include "core/model/tokens/byte_chars.h"
#include "core/model/tokens/pattern.h"
#include "core/model/tokens/unicode.h"
#include "core/model/tokens/utf8.h"

namespace kvlab::bpe {
namespace {

/// Treatment of a match (the delimiter) when a text is split.
enum class Behaviour { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

using Spans = std::vector<Span>;
using Cutter = std::function<Result<Spans>(std::string_view)>;

constexpr const char* kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Joins each span that `joins` says so with the one before it.
template <class Joins>
Spans joined(const Spans& spans, Joins joins) {
  Spans out;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!out.empty() && joins(i)) out.back().end = spans[i].end;
    else out.push_back(spans[i]);
  }
  return out;
}

Spans arranged(const Spans& spans, Behaviour behaviour) {
  const auto isMatch = [&](std::size_t i) { return i < spans.size() && spans[i].match; };
  switch (behaviour) {
    case Behaviour::Isolated: return spans;
    case Behaviour::Contiguous:
      return joined(spans, [&](std::size_t i) { return spans[i].match == spans[i - 1].match; });
    case Behaviour::MergedWithPrevious:
      return joined(spans, [&](std::size_t i) { return spans[i].match && !spans[i - 1].match; });
    case Behaviour::MergedWithNext:
      return joined(spans, [&](std::size_t i) { return spans[i - 1].match && !isMatch(i); });
    case Behaviour::Removed: break;
  }
  Spans out;
  for (const Span& s : spans)
    if (!s.match) out.push_back(s);
  return out;
}

Status split(Pieces& pieces, const Cutter& cutter, Behaviour behaviour) {
  Pieces out;
  for (const Piece& piece : pieces) {
    const auto spans = KV_TRY(cutter(piece.text));
    for (const Span& s : arranged(spans, behaviour))
      if (s.end > s.begin) out.push_back({piece.text.substr(s.begin, s.end - s.begin), piece.first && s.begin == 0});
  }
  pieces = std::move(out);
  return ok();
}

/// Every character of a class is a match of its own.
Cutter byClass(bool (*isIn)(char32_t)) {
  return [isIn](std::string_view text) -> Result<Spans> {
    Spans spans;
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = codePointAt(text, at);
      const auto end = at + static_cast<std::size_t>(std::max(c.length, 1));
      const bool match = isIn(c.value);
      if (match || spans.empty() || spans.back().match) spans.push_back({at, end, match});
      else spans.back().end = end;
      at = end;
    }
    return spans;
  };
}

Cutter byPattern(Pattern pattern, bool invert = false) {
  return [pattern = std::move(pattern), invert](std::string_view text) {
    auto spans = pattern.cut(text);
    if (spans && invert)
      for (Span& s : *spans) s.match = !s.match;
    return spans;
  };
}

/// Compiles an expression of the program's own.
Result<Pattern> compiled(const char* expression, const JsonFields& step) {
  std::string why;
  auto pattern = Pattern::regex(expression, why);
  if (!pattern) return step.bad("type", "needs an expression that " + why);
  return std::move(*pattern);
}

PreTokeniser splitter(Cutter cutter, Behaviour behaviour) {
  return [cutter = std::move(cutter), behaviour](Pieces& pieces) { return split(pieces, cutter, behaviour); };
}

Result<Behaviour> behaviourOf(const JsonFields& step) {
  const auto name = KV_TRY(step.text("behavior"));
  const std::pair<const char*, Behaviour> known[] = {{"Removed", Behaviour::Removed},
                                                     {"Isolated", Behaviour::Isolated},
                                                     {"MergedWithPrevious", Behaviour::MergedWithPrevious},
                                                     {"MergedWithNext", Behaviour::MergedWithNext},
                                                     {"Contiguous", Behaviour::Contiguous}};
  for (const auto& [text, behaviour] : known)
    if (name == text) return behaviour;
  return step.bad("behavior", "is not known");
}

Result<PreTokeniser> splitStep(const JsonFields& step) {
  const auto behaviour = KV_TRY(behaviourOf(step));
  const bool invert = KV_TRY(step.flag("invert", false));
  auto pattern = KV_TRY(Pattern::fromJson(step, "pattern"));
  return splitter(byPattern(std::move(pattern), invert), behaviour);
}

Result<PreTokeniser> byteLevel(const JsonFields& step) {
  const bool prefix = KV_TRY(step.flag("add_prefix_space", true));
  const bool regex = KV_TRY(step.flag("use_regex", true));
  auto pattern = KV_TRY(compiled(kGpt2, step));
  return PreTokeniser([=, cutter = byPattern(std::move(pattern)), bytes = ByteChars()](Pieces& pieces) -> Status {
    for (Piece& piece : pieces)
      if (prefix && !piece.text.starts_with(' ')) piece.text.insert(0, 1, ' ');
    if (regex) KV_TRY(split(pieces, cutter, Behaviour::Isolated));
    for (Piece& piece : pieces) piece.text = bytes.encoded(piece.text);
    return ok();
  });
}

Result<PreTokeniser> digits(const JsonFields& step) {
  const bool each = KV_TRY(step.flag("individual_digits", false));
  return splitter(byClass(isNumeric), each ? Behaviour::Isolated : Behaviour::Contiguous);
}

enum class Prepend { Always, First, Never };

/// prepend_scheme, or the older add_prefix_space.
Result<Prepend> prependOf(const JsonFields& step) {
  const bool prefix = KV_TRY(step.flag("add_prefix_space", true));
  const auto scheme = KV_TRY(step.text("prepend_scheme", prefix ? "always" : "never"));
  if (scheme == "always") return Prepend::Always;
  if (scheme == "first") return Prepend::First;
  if (scheme == "never") return Prepend::Never;
  return step.bad("prepend_scheme", "is not known");
}

Result<PreTokeniser> metaspace(const JsonFields& step) {
  const auto mark = KV_TRY(step.text("replacement", "\xe2\x96\x81"));
  if (mark.empty() || mark.size() > 16) return step.bad("replacement", "is not one character");
  const auto scheme = KV_TRY(prependOf(step));
  const bool cut = KV_TRY(step.flag("split", true));
  const auto prepend = [mark, scheme](const Piece& piece) {
    return !piece.text.starts_with(mark) && (scheme == Prepend::Always || (scheme == Prepend::First && piece.first));
  };
  return PreTokeniser(
      [=, space = Pattern::text(" "), cutter = byPattern(Pattern::text(mark))](Pieces& pieces) -> Status {
        const auto text = [](Piece& piece) -> std::string& { return piece.text; };
        KV_TRY(space.replaceEach(pieces, mark, text));
        for (Piece& piece : pieces)
          if (prepend(piece)) piece.text.insert(0, mark);
        return cut ? split(pieces, cutter, Behaviour::MergedWithNext) : ok();
      });
}

Result<PreTokeniser> whitespace(const JsonFields& step) {
  auto pattern = KV_TRY(compiled(R"([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}]+|[^\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\s]+)", step));
  return splitter(byPattern(std::move(pattern), true), Behaviour::Removed);
}

}  // namespace

Result<PreTokeniser> preTokeniserFromJson(const JsonFields& step) {
  const auto type = KV_TRY(step.text("type"));
  if (type == "Sequence") return sequence<PreTokeniser, Pieces>(step, "pretokenizers", preTokeniserFromJson);
  if (type == "Split") return splitStep(step);
  if (type == "ByteLevel") return byteLevel(step);
  if (type == "Digits") return digits(step);
  if (type == "Metaspace") return metaspace(step);
  if (type == "Whitespace") return whitespace(step);
  if (type == "WhitespaceSplit") return splitter(byClass(isSpace), Behaviour::Removed);
  return step.bad("type", "is a pre-tokenizer that is not implemented", "use another tokenizer");
}

}  // namespace kvlab::bpe
