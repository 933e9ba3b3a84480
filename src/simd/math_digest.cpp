#include "simd/math_digest.h"

#include <bit>

#include "core/philox.h"
#include "core/sha256.h"
#include "simd/math64.h"

namespace loom {
namespace {

constexpr std::uint32_t kInputs = 1u << 20;
constexpr std::uint32_t kBlock = 1u << 12;

// Every 4099th float, all signs, exponents and NaNs among them.
float input(std::uint32_t i) { return std::bit_cast<float>(i * 4099u); }

// Bases between 1/4 and 4 with exponents below 64 in size, and pairs of any bits.
void pow_input(std::uint32_t i, float& x, float& y) {
  const PhiloxBlock r = philox4x32(1, {i, 0, 0, 0});
  x = std::bit_cast<float>(i % 4 == 0 ? r[0] : 0x3e800000u + (r[0] & 0x01ffffffu));
  y = std::bit_cast<float>(i % 4 == 0 ? r[1] : (r[1] & 0x80000000u) | (0x3e800000u + (r[1] & 0x03ffffffu)));
}

// Doubles of any bits, and sizes between 2^-8 and 2^24.
double input64(std::uint32_t i, std::uint32_t stream) {
  const PhiloxBlock r = philox4x32(2, {i, stream, 0, 0});
  const std::uint64_t any = std::uint64_t{r[0]} << 32 | r[1];
  if (i % 4 == 0) return std::bit_cast<double>(any);
  return std::bit_cast<double>((any & 0x800fffffffffffffull) | (std::uint64_t{1015 + r[2] % 32} << 52));
}

MathDigest finish(const char* name, Sha256& hash) { return {name, to_hex(hash.finish())}; }

template <class F>
MathDigest digest64(const char* name, const F& f) {
  Sha256 hash;
  for (std::uint32_t i = 0; i < kInputs; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(f(i));
    hash.update_u32(static_cast<std::uint32_t>(bits)), hash.update_u32(static_cast<std::uint32_t>(bits >> 32));
  }
  return finish(name, hash);
}

constexpr struct {
  const char* name;
  double (*run)(double);
} kFunctions64[] = {{"exp64", exp64},     {"expm1_64", expm1_64}, {"log64", log64},
                    {"log1p64", log1p64}, {"tanh64", tanh64},     {"sigmoid64", sigmoid64},
                    {"erf64", erf64},     {"sin64", sin64},       {"cos64", cos64}};

}  // namespace

std::vector<MathDigest> math_digests(const MathKernels& kernels) {
  const struct {
    const char* name;
    MathKernel run;
  } functions[] = {{"exp", kernels.exp},   {"expm1", kernels.expm1},     {"log", kernels.log}, {"log1p", kernels.log1p},
                   {"tanh", kernels.tanh}, {"sigmoid", kernels.sigmoid}, {"erf", kernels.erf}, {"sin", kernels.sin},
                   {"cos", kernels.cos},   {"rsqrt", kernels.rsqrt}};
  std::vector<MathDigest> digests;
  std::vector<float> x(kBlock), z(kBlock), y(kBlock);
  for (const auto& f : functions) {
    Sha256 hash;
    for (std::uint32_t start = 0; start < kInputs; start += kBlock) {
      for (std::uint32_t i = 0; i < kBlock; ++i) x[i] = input(start + i);
      f.run(x.data(), y.data(), kBlock);
      hash.update_floats(y);
    }
    digests.push_back(finish(f.name, hash));
  }
  Sha256 hash;
  for (std::uint32_t start = 0; start < kInputs; start += kBlock) {
    for (std::uint32_t i = 0; i < kBlock; ++i) pow_input(start + i, x[i], z[i]);
    kernels.pow(x.data(), z.data(), y.data(), kBlock);
    hash.update_floats(y);
  }
  digests.push_back(finish("pow", hash));
  return digests;
}

std::vector<MathDigest> math64_digests() {
  std::vector<MathDigest> digests;
  for (const auto& f : kFunctions64)
    digests.push_back(digest64(f.name, [&f](std::uint32_t i) { return f.run(input64(i, 0)); }));
  digests.push_back(digest64("pow64", [](std::uint32_t i) { return pow64(input64(i, 0), input64(i, 1)); }));
  return digests;
}

const std::vector<MathDigest>& golden_math_digests() {
  static const std::vector<MathDigest> golden = {
      {"exp", "e2c190ce6776aa5b838db2e837aea1b0c33d6fff3bc29b2e11caf51777d7cbb8"},
      {"expm1", "65143dfce4a7e29cb7b5e955f6369c5b9fbd6a5dcc8e555b8c582e8f8f60e9f3"},
      {"log", "8969369a334ba745c1bc1e1b48e792e50f97c7d3b06610e378c6e8bf8090e4bb"},
      {"log1p", "96bafd71a83c9c5dc0688eab7813da3b37c457cc17194b0828151cc8ec6e674f"},
      {"tanh", "6ad6e4d84406edfb2953ff9df11b7db90b703b0cf9d6e90410bd105a91f5784b"},
      {"sigmoid", "236d8c4db4382e5f1f419ff8e159b464a68c6eaa3b151ba5eee319b9c25f6342"},
      {"erf", "399e54cea05ea663d91f13a9858fcf41d720b0e7e233afa05db0858bd5097b5e"},
      {"sin", "5415d181063e20317835955de80045eb9e79bcd1cadd405571c6ae6b582f4ffc"},
      {"cos", "ca91252cd44a9c9a3b2397d3894947149fae53d54894d474d2f78165a90fbc0e"},
      {"rsqrt", "b437c7332494938f0f5d4b19c43a1712051726f495d572cf72f4992219f96e56"},
      {"pow", "d3c8a09b5fd4fb0948aea4614b5f5d0f30647167284f937393c9edefd7952462"},
  };
  return golden;
}

const std::vector<MathDigest>& golden_math64_digests() {
  static const std::vector<MathDigest> golden = {
      {"exp64", "724dcfdef8ce76b2944ed7b2656f9effe01b4db56e6041ed7ea57032c3be9159"},
      {"expm1_64", "19886d52221061d9de020d74c754ee85fa6d37fa9ccfb4cbe303364447bff8d6"},
      {"log64", "a7694ecc00845107341b81b4ae98902a8b0c636ad995cb077d5367f5132545c3"},
      {"log1p64", "36995d1a80fd9552a0bc56a01f8f48530638fccef47c51d8af39f2e39b158245"},
      {"tanh64", "3227344e5d85d89e5958ac1e40f6c8165cc98b4a01d0264d0ef11e70f9bbd0af"},
      {"sigmoid64", "d3ba0e692473b8d937ef8e8958c0a073767d38a64f19f94e2f5eecde330d14b0"},
      {"erf64", "ce68edf6bd975d85f5657b8143670bd1d237d42a30c1b2f906baef9a151a494d"},
      {"sin64", "ccdab2834a3ba31dbd7cdc4f7a1994e5a9459a58aead182cd2ddbf60ef50601b"},
      {"cos64", "6b59832940e4aa78e81f0a002d2937729d8aa84bff2bcf483f02f856d7377556"},
      {"pow64", "9996bd394918b24399b131e517558a56f00227f3c2c9b9af8003ac4c7e2937a7"},
  };
  return golden;
}

}  // namespace loom
