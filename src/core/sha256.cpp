#include "core/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/sha256_blocks.h"

namespace loom {

void sha256_portable(std::uint32_t* state, const std::uint8_t* p, std::size_t blocks) {
  for (; blocks > 0; --blocks) {
    std::array<std::uint32_t, 64> w;
    for (int i = 0; i < 16; ++i, p += 4)
      w[i] = std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | std::uint32_t{p[3]};
    for (int i = 16; i < 64; ++i) {
      const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    std::uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6],
                  h = state[7];
    for (int i = 0; i < 64; ++i) {
      const std::uint32_t t1 =
          h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kSha256Round[i] + w[i];
      const std::uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> v{a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state[i] += v[i];
  }
}

namespace {

void digest_blocks(std::uint32_t* state, const std::uint8_t* p, std::size_t blocks) {
  static const Sha256Blocks best = sha256_of_cpu() != nullptr ? sha256_of_cpu() : sha256_portable;
  best(state, p, blocks);
}

}  // namespace

void Sha256::update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;  // the pointer of an empty span may be null, which memcpy does not allow
  const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t n = bytes.size();
  std::size_t held = total_ % 64;
  total_ += n;
  if (held != 0) {
    const std::size_t take = n < 64 - held ? n : 64 - held;
    std::memcpy(pending_.data() + held, p, take);
    p += take, n -= take, held += take;
    if (held < 64) return;
    digest_blocks(state_.data(), pending_.data(), 1);
  }
  digest_blocks(state_.data(), p, n / 64);
  p += n / 64 * 64, n %= 64;
  if (n != 0) std::memcpy(pending_.data(), p, n);
}

void Sha256::update_u32(std::uint32_t value) {
  std::array<std::byte, 4> b;
  for (int i = 0; i < 4; ++i) b[i] = static_cast<std::byte>(value >> (8 * i));
  update(b);
}

void Sha256::update_floats(std::span<const float> values) {
  if constexpr (std::endian::native == std::endian::little) {
    update(std::as_bytes(values));
  } else {
    for (const float v : values) update_u32(std::bit_cast<std::uint32_t>(v));
  }
}

Digest Sha256::finish() {
  const std::uint64_t bits = total_ * 8;
  const std::size_t zeros = (119 - total_ % 64) % 64;
  std::array<std::byte, 72> tail{};
  tail[0] = std::byte{0x80};
  for (int i = 0; i < 8; ++i) tail[1 + zeros + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  update(std::span(tail).first(1 + zeros + 8));
  Digest out;
  for (int i = 0; i < 32; ++i) out[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

void sha256_each(std::span<const std::span<const std::byte>> inputs, std::span<Digest> digests) {
  static const Sha256PairBlocks pair = sha256_pair_of_cpu();
  struct Lane {
    Sha256 hash;
    std::span<const std::byte> left;
    std::size_t input = 0;
    bool busy = false;
    const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(left.data()); }
    void skip(std::size_t bytes) { hash.total_ += bytes, left = left.subspan(bytes); }
  };
  std::size_t next = 0;
  const auto start = [&](Lane& lane) {
    lane.busy = next < inputs.size();
    if (lane.busy) lane.hash = Sha256(), lane.left = inputs[next], lane.input = next++;
  };
  const auto end = [&](Lane& lane) {
    lane.hash.update(lane.left);
    digests[lane.input] = lane.hash.finish();
    start(lane);
  };
  Lane a, b;
  start(a), start(b);
  while (pair != nullptr && a.busy && b.busy) {
    const std::size_t blocks = std::min(a.left.size(), b.left.size()) / 64;
    if (blocks != 0) pair(a.hash.state_.data(), a.data(), b.hash.state_.data(), b.data(), blocks);
    a.skip(64 * blocks), b.skip(64 * blocks);
    if (a.left.size() < 64) end(a);
    if (b.left.size() < 64) end(b);
  }
  for (Lane* lane : {&a, &b})
    while (lane->busy) end(*lane);
}

std::string to_hex(const Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t b : digest) {
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out;
}

}  // namespace loom
