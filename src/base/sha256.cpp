#include "base/sha256.h"

#include <openssl/evp.h>

#include <new>
#include <stdexcept>

namespace hearth::base {

namespace {

EVP_MD_CTX* evp(void* context) { return static_cast<EVP_MD_CTX*>(context); }

// None of these calls has an expected failure: without arguments from outside they fail only on misuse.
void require(int ok) {
  if (ok != 1) throw std::logic_error("OpenSSL refused to compute a SHA-256");
}

}  // namespace

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(evp(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (!context_) throw std::bad_alloc();
  require(EVP_DigestInit_ex(evp(context_.get()), EVP_sha256(), nullptr));
}

void Sha256::add(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(evp(context_.get()), bytes.data(), bytes.size()));
}

void Sha256::add_part(std::string_view bytes) {
  add(std::to_string(bytes.size()));
  add(":");
  add(bytes);
}

Sha256::Bytes Sha256::finish() {
  Bytes bytes{};
  require(EVP_DigestFinal_ex(evp(context_.get()), bytes.data(), nullptr));
  return bytes;
}

std::string Sha256::finish_hex() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : finish()) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace hearth::base
