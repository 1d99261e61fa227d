// SPDX-License-Identifier: Apache-2.0
// Input: a capture as it lies on the disk (first byte even), or payloads between NULs that are
// framed here with their right checksums, as version 3 or, with the second bit, 1. An accepted capture is the same
// after writing and reading again, and any cut of it is a beginning of it.
#include "core/files/capture.h"

#include "fuzz.h"

using namespace kvlab;

namespace {

std::string framed(std::string_view payloads, char version) {
  std::string out = std::string("kvlab-capture ") + version + '\n';
  for (std::uint64_t number = 0; !payloads.empty(); ++number) {
    const std::string_view payload = payloads.substr(0, payloads.find('\0'));
    payloads.remove_prefix(std::min(payloads.size(), payload.size() + 1));
    const auto length = static_cast<std::uint32_t>(payload.size());
    const std::uint64_t checksum = captureChecksum(payload, number);
    out.append(reinterpret_cast<const char*>(&length), sizeof length);
    out.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
    out += payload;
  }
  return out;
}

Result<Capture> parsed(const std::string& file) {
  return parseCapture(std::as_bytes(std::span(file.data(), file.size())), "f");
}

bool same(const CaptureCommand& a, const CaptureCommand& b) {
  return a.verb == b.verb && a.args == b.args && a.tick == b.tick && a.commits == b.commits && a.hash == b.hash;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest = fuzz::text(data, size).substr(1);
  const auto capture = parsed(data[0] % 2 ? framed(rest, data[0] & 2 ? '1' : '3') : std::string(rest));
  if (!capture) {
    fuzz::checkError(capture.error());
    return 0;
  }
  std::uint64_t next = 0;
  const std::string file = captureFile(*capture, next);
  const auto again = parsed(file);
  fuzz::require(again && again->note.empty() && again->bytes == file.size(), "not read again");
  fuzz::require(again->commands.size() == capture->commands.size(), "another number of commands");
  fuzz::require(again->asides.size() == capture->asides.size(), "another number of asides");
  // Text that is no UTF-8 cannot come out of a JSON parser, so commands come back as they were.
  for (std::size_t i = 0; i < capture->commands.size(); ++i)
    fuzz::require(same(again->commands[i], capture->commands[i]), "another command");
  for (std::size_t i = 0; i < capture->asides.size(); ++i)
    fuzz::require(
        again->asides[i].after == capture->asides[i].after && toJson(again->asides[i]) == toJson(capture->asides[i]),
        "another aside");
  const auto cut = parsed(file.substr(0, file.size() - 1));
  const auto records = [](const Capture& one) { return one.commands.size() + one.asides.size(); };
  fuzz::require((records(*capture) == 0) == !cut, "a cut was not noticed");
  fuzz::require(!cut || records(*cut) + 1 == records(*capture), "another tail");
  return 0;
}
