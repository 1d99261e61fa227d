// SPDX-License-Identifier: Apache-2.0
// Writes values as Python's str, repr and json.dumps do.
#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "core/model/chat/value.h"
#include "core/model/tokens/utf8.h"

namespace kvlab::chat {
namespace {

/// Shortest digits that read back as the same; an exponent outside 1e-4 .. 1e16.
std::string realText(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  char buffer[64];
  const double size = std::fabs(x);
  const bool wide = size != 0 && (size < 1e-4 || size >= 1e16);
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, x, wide ? std::chars_format::scientific : std::chars_format::fixed);
  std::string out(buffer, end.ptr);
  if (!wide && out.find('.') == out.npos) out += ".0";
  return out;
}

std::string escaped(const char* format, std::uint32_t code) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, format, code);
  return buffer;
}

bool printable(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  if (category == UTF8PROC_CATEGORY_ZS) return c == ' ';
  return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;  // behind it come the Z and C
}

std::string quoted(const std::string& text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = codePointAt(text, at);
    const auto length = static_cast<std::size_t>(std::max(c.length, 1));
    if (c.value == '\n') out += "\\n";
    else if (c.value == '\t') out += "\\t";
    else if (c.value == '\r') out += "\\r";
    else if (c.value == '\\' || c.value == static_cast<unsigned char>(quote)) out += {'\\', static_cast<char>(c.value)};
    else if (printable(c.value)) out += text.substr(at, length);
    else if (c.value < 0x100) out += escaped("\\x%02x", c.value);
    else out += c.value < 0x10000 ? escaped("\\u%04x", c.value) : escaped("\\U%08x", c.value);
    at += length;
  }
  return out + quote;
}

std::string listRepr(const Value& value) {
  std::string out = value.tuple ? "(" : "[";
  for (std::size_t i = 0; i < value.list->size(); ++i) out += (i ? ", " : "") + reprOf((*value.list)[i]);
  if (value.tuple && value.list->size() == 1) out += ",";
  return out + (value.tuple ? ")" : "]");
}

std::string dictRepr(const Dict& dict) {
  std::string out = "{";
  for (const auto& [key, value] : dict) out += (out.size() > 1 ? ", " : "") + quoted(key) + ": " + reprOf(value);
  return out + "}";
}

std::string jsonString(const std::string& text, bool ascii) {
  std::string out = nlohmann::json(text).dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
  if (ascii) return out;
  std::string plain;  // json.dumps leaves U+007F as it is
  for (std::size_t at = 0; at < out.size(); ++at) {
    if (out.compare(at, 6, "\\u007f") == 0 && (at == 0 || out[at - 1] != '\\')) {
      plain += '\x7f';
      at += 5;
    } else {
      plain += out[at];
    }
  }
  return plain;
}

/// "[" parts "]" with separators and line breaks.
std::string bracketed(char open, char close, const std::vector<std::string>& parts, const JsonStyle& style, int level) {
  if (parts.empty()) return {open, close};
  const auto newline = [&](int n) {
    std::string line;
    if (style.indent >= 0) line.assign(1 + static_cast<std::size_t>(style.indent * n), ' ').front() = '\n';
    return line;
  };
  std::string separator = style.item;
  if (style.indent >= 0) separator.erase(separator.find_last_not_of(' ') + 1);
  std::string out(1, open);
  out += newline(level + 1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator + newline(level + 1);
    out += parts[i];
  }
  out += newline(level);
  return out + close;
}

}  // namespace

std::string reprOf(const Value& value) { return value.is(Kind::Text) ? quoted(value.str()) : textOf(value); }

std::string textOf(const Value& value) {
  switch (value.kind) {
    case Kind::Undefined: return "";
    case Kind::None: return "None";
    case Kind::Bool: return value.integer ? "True" : "False";
    case Kind::Int: return std::to_string(value.integer);
    case Kind::Float: return realText(value.real);
    case Kind::Text: return value.str();
    case Kind::List: return listRepr(value);
    case Kind::Dict: return dictRepr(*value.dict);
    default: return "<" + typeName(value) + ">";
  }
}

std::optional<std::string> jsonOf(const Value& value, const JsonStyle& style, int level) {
  switch (value.kind) {
    case Kind::None: return "null";
    case Kind::Bool: return value.integer ? "true" : "false";
    case Kind::Int: return std::to_string(value.integer);
    case Kind::Float:
      if (std::isfinite(value.real)) return realText(value.real);
      return std::isnan(value.real) ? "NaN" : value.real < 0 ? "-Infinity" : "Infinity";
    case Kind::Text: return jsonString(value.str(), style.ascii);
    case Kind::List:
    case Kind::Dict: break;
    default: return {};
  }
  std::vector<std::string> parts;
  if (value.is(Kind::List)) {
    for (const Value& item : *value.list) {
      auto text = jsonOf(item, style, level + 1);
      if (!text) return {};
      parts.push_back(std::move(*text));
    }
    return bracketed('[', ']', parts, style, level);
  }
  Dict entries = *value.dict;
  if (style.sorted)
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, item] : entries) {
    const auto text = jsonOf(item, style, level + 1);
    if (!text) return {};
    parts.push_back(jsonString(key, style.ascii) + style.key + *text);
  }
  return bracketed('{', '}', parts, style, level);
}

}  // namespace kvlab::chat
