// SPDX-License-Identifier: Apache-2.0
#include "core/foreign/md5.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kvlab {
namespace {

constexpr std::array<std::array<int, 4>, 4> kTurns = {
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

std::uint32_t word(const std::byte* from) {
  std::uint32_t out = 0;
  for (int i = 3; i >= 0; --i) out = out << 8 | std::to_integer<std::uint32_t>(from[i]);
  return out;
}

void takeBlock(std::array<std::uint32_t, 4>& sum, const std::byte* block) {
  auto [a, b, c, d] = sum;
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t round = i / 16;
    const std::uint32_t mixed = round == 0 ? (b & c) | (~b & d)
        : round == 1                       ? (d & b) | (~d & c)
        : round == 2                       ? b ^ c ^ d
                                           : c ^ (b | ~d);
    const std::uint32_t place = (round == 0 ? i : round == 1 ? 5 * i + 1 : round == 2 ? 3 * i + 5 : 7 * i) % 16;
    const auto constant = static_cast<std::uint32_t>(std::floor(std::abs(std::sin(i + 1.0)) * 4294967296.0));
    const std::uint32_t turned = std::rotl(a + mixed + constant + word(block + 4 * place), kTurns[round][i % 4]);
    a = d;
    d = c;
    c = b;
    b += turned;
  }
  sum = {sum[0] + a, sum[1] + b, sum[2] + c, sum[3] + d};
}

}  // namespace

std::string md5(std::span<const std::byte> bytes) {
  std::vector<std::byte> all(bytes.begin(), bytes.end());
  all.push_back(std::byte{0x80});
  while (all.size() % 64 != 56) all.push_back(std::byte{0});
  for (int i = 0; i < 8; ++i) all.push_back(static_cast<std::byte>(std::uint64_t{bytes.size()} * 8 >> 8 * i));
  std::array<std::uint32_t, 4> sum = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (std::size_t i = 0; i < all.size(); i += 64) takeBlock(sum, all.data() + i);
  std::string out;
  for (const std::uint32_t one : sum)
    for (int i = 0; i < 8; ++i) out += "0123456789abcdef"[one >> (8 * (i / 2) + (i % 2 == 0 ? 4 : 0)) & 15];
  return out;
}

}  // namespace kvlab
