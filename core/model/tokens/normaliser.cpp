// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/steps.h"

#include "core/model/tokens/pattern.h"
#include "core/model/tokens/tokenizer_files.h"
#include "core/model/tokens/unicode.h"

namespace kvlab::bpe {
namespace {

Result<Normaliser> prepend(const JsonFields& step) {
  const auto prefix = KV_TRY(step.text("prepend"));
  return Normaliser([prefix](std::string& text) {
    if (!text.empty()) text.insert(0, prefix);
    return ok();
  });
}

Result<Normaliser> replace(const JsonFields& step) {
  const auto pattern = KV_TRY(Pattern::fromJson(step, "pattern"));
  const auto content = KV_TRY(step.text("content"));
  return Normaliser([pattern, content](std::string& text) -> Status {
    text = KV_TRY(pattern.replace(text, content));
    return ok();
  });
}

Result<Normaliser> strip(const JsonFields& step) {
  const bool left = KV_TRY(step.flag("strip_left", true));
  const bool right = KV_TRY(step.flag("strip_right", true));
  return Normaliser([left, right](std::string& text) {
    if (right) text.erase(trailingSpace(text));
    if (left) text.erase(0, leadingSpace(text));
    return ok();
  });
}

Normaliser form(Form form) {
  return [form](std::string& text) -> Status {
    auto out = normalised(text, form);
    if (!out) return badText("it cannot be brought to a Unicode normal form", "give text in UTF-8");
    text = std::move(*out);
    return ok();
  };
}

}  // namespace

Result<Normaliser> normaliserFromJson(const JsonFields& step) {
  const auto type = KV_TRY(step.text("type"));
  if (type == "Sequence") return sequence<Normaliser, std::string>(step, "normalizers", normaliserFromJson);
  if (type == "Prepend") return prepend(step);
  if (type == "Replace") return replace(step);
  if (type == "Strip") return strip(step);
  if (type == "NFC") return form(Form::Nfc);
  if (type == "NFD") return form(Form::Nfd);
  if (type == "NFKC") return form(Form::Nfkc);
  if (type == "NFKD") return form(Form::Nfkd);
  return step.bad("type", "is a normalizer that is not implemented", "use another tokenizer");
}

}  // namespace kvlab::bpe
