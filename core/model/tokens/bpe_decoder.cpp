// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/steps.h"

#include <charconv>

#include "core/model/tokens/byte_chars.h"
#include "core/model/tokens/pattern.h"
#include "core/model/tokens/utf8.h"

namespace kvlab::bpe {
namespace {

using Tokens = std::vector<std::string>;

constexpr const char* kReplacement = "\xef\xbf\xbd";

Status byteLevel(Tokens& tokens) {
  const ByteChars chars;
  std::string bytes;
  for (const std::string& token : tokens) bytes += chars.decoded(token).value_or(token);
  tokens = {validUtf8(bytes)};
  return ok();
}

/// Bytes that wait for the rest of their character; written as text, or one mark a byte.
void flushBytes(std::string& bytes, Tokens& out) {
  if (invalidUtf8At(bytes) == std::string::npos) {
    if (!bytes.empty()) out.push_back(bytes);
  } else {
    out.insert(out.end(), bytes.size(), kReplacement);
  }
  bytes.clear();
}

Status byteFallback(Tokens& tokens) {
  Tokens out;
  std::string bytes;
  for (std::string& token : tokens) {
    const int byte = byteOfToken(token);
    if (byte >= 0) {
      bytes += static_cast<char>(byte);
      continue;
    }
    flushBytes(bytes, out);
    out.push_back(std::move(token));
  }
  flushBytes(bytes, out);
  tokens = std::move(out);
  return ok();
}

Status fuse(Tokens& tokens) {
  std::string all;
  for (const std::string& token : tokens) all += token;
  tokens = {std::move(all)};
  return ok();
}

Result<Decoder> replaceDecoder(const JsonFields& step) {
  const auto pattern = KV_TRY(Pattern::fromJson(step, "pattern"));
  const auto content = KV_TRY(step.text("content"));
  return Decoder([pattern, content](Tokens& tokens) {
    return pattern.replaceEach(tokens, content, [](std::string& t) -> std::string& { return t; });
  });
}

/// At most `start` leading and `stop` trailing occurrences of a character.
Result<Decoder> stripDecoder(const JsonFields& step) {
  int start = 0, stop = 0;
  const auto content = KV_TRY(step.text("content"));
  if (content.empty() || static_cast<std::size_t>(codePointAt(content, 0).length) != content.size())
    return step.bad("content", "is not one character");
  KV_TRY(step.number("start", start, 0, 1 << 20, 0));
  KV_TRY(step.number("stop", stop, 0, 1 << 20, 0));
  return Decoder([=, c = content](Tokens& tokens) {
    for (std::string& token : tokens) {
      for (int i = 0; i < start && token.starts_with(c); ++i) token.erase(0, c.size());
      for (int i = 0; i < stop && token.ends_with(c); ++i) token.erase(token.size() - c.size());
    }
    return ok();
  });
}

Result<Decoder> metaspaceDecoder(const JsonFields& step) {
  const bool prefix = KV_TRY(step.flag("add_prefix_space", true));
  const auto mark = KV_TRY(step.text("replacement", "\xe2\x96\x81"));
  const auto scheme = KV_TRY(step.text("prepend_scheme", prefix ? "always" : "never"));
  const bool drop = scheme != "never";  // in the first token
  return Decoder([drop, pattern = Pattern::text(mark)](Tokens& tokens) -> Status {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = KV_TRY(pattern.replace(tokens[i], i == 0 && drop ? "" : " "));
    return ok();
  });
}

}  // namespace

int byteOfToken(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int byte = 0;
  const auto [end, failure] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return failure == std::errc{} && end == token.data() + 5 && byte >= 0 ? byte : -1;
}

Result<Decoder> decoderFromJson(const JsonFields& step) {
  const auto type = KV_TRY(step.text("type"));
  if (type == "Sequence") return sequence<Decoder, Tokens>(step, "decoders", decoderFromJson);
  if (type == "ByteLevel") return Decoder(byteLevel);
  if (type == "ByteFallback") return Decoder(byteFallback);
  if (type == "Fuse") return Decoder(fuse);
  if (type == "Replace") return replaceDecoder(step);
  if (type == "Strip") return stripDecoder(step);
  if (type == "Metaspace") return metaspaceDecoder(step);
  return step.bad("type", "is a decoder that is not implemented", "use another tokenizer");
}

}  // namespace kvlab::bpe
