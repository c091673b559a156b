#include "artifact/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <new>
#include <stdexcept>

namespace hearth::artifact {
namespace {

EVP_MD_CTX* evp(void* context) { return static_cast<EVP_MD_CTX*>(context); }

// None of these calls has an expected failure: without arguments from outside they fail only on misuse.
void require(int ok) {
  if (ok != 1) throw std::logic_error("OpenSSL refused to compute a SHA-256");
}

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::optional<Digest> Digest::parse(std::string_view text) {
  if (text.size() != kTextLength || !std::ranges::all_of(text, is_hex)) return std::nullopt;
  Digest digest;
  digest.text_ = text;
  return digest;
}

Digest::Digest(const std::array<unsigned char, 32>& bytes) {
  for (const unsigned char byte : bytes)
    text_ += fmt::format("{:02x}", byte);
}

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(evp(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (!context_) throw std::bad_alloc();
  require(EVP_DigestInit_ex(evp(context_.get()), EVP_sha256(), nullptr));
}

void Sha256::add(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(evp(context_.get()), bytes.data(), bytes.size()));
}

Digest Sha256::finish() {
  std::array<unsigned char, 32> bytes{};
  require(EVP_DigestFinal_ex(evp(context_.get()), bytes.data(), nullptr));
  return Digest(bytes);
}

Digest sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(bytes)));
  return hash.finish();
}

}  // namespace hearth::artifact
