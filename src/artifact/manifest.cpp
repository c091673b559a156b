#include "artifact/manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/sealed_text.h"

namespace hearth::artifact {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using Json = nlohmann::ordered_json;

constexpr std::string_view kTitle = "hearth-manifest";

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const GgufSummary& gguf) {
  return {{"version", gguf.version},
          {"architecture", or_null(gguf.architecture)},
          {"name", or_null(gguf.name)},
          {"quantisation", or_null(gguf.quantisation)},
          {"parameters", gguf.parameters},
          {"tensors", gguf.tensors},
          {"context_length", or_null(gguf.context_length)},
          {"block_count", or_null(gguf.block_count)},
          {"embedding_length", or_null(gguf.embedding_length)},
          {"head_count", or_null(gguf.head_count)},
          {"head_count_kv", or_null(gguf.head_count_kv)},
          {"vocabulary", or_null(gguf.vocabulary)},
          {"chat_template", gguf.chat_template}};
}

template <typename T>
std::optional<T> optional_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return found->get<T>();
}

// Throws nlohmann's exceptions, as do the others that take a Json; decode_body turns them into an error.
GgufSummary gguf_from(const Json& json) {
  using Number = std::uint64_t;
  return {.version = json.at("version").get<std::uint32_t>(),
          .architecture = optional_at<std::string>(json, "architecture"),
          .name = optional_at<std::string>(json, "name"),
          .quantisation = optional_at<std::string>(json, "quantisation"),
          .parameters = json.at("parameters").get<Number>(),
          .tensors = json.at("tensors").get<Number>(),
          .context_length = optional_at<Number>(json, "context_length"),
          .block_count = optional_at<Number>(json, "block_count"),
          .embedding_length = optional_at<Number>(json, "embedding_length"),
          .head_count = optional_at<Number>(json, "head_count"),
          .head_count_kv = optional_at<Number>(json, "head_count_kv"),
          .vocabulary = optional_at<Number>(json, "vocabulary"),
          .chat_template = json.at("chat_template").get<bool>()};
}

std::unexpected<base::Error> corrupt(std::string_view detail) {
  return fail(ErrorCode::corrupt, fmt::format("the manifest is damaged ({})", detail));
}

Result<Manifest> manifest_from(const Json& json) {
  auto id = domain::ModelId::parse(json.at("id").get<std::string>());
  const auto digest = Digest::parse(json.at("digest").get<std::string>());
  if (!id || !digest) return corrupt("its id or digest is not one");
  return Manifest{.id = std::move(*id),
                  .digest = *digest,
                  .bytes = json.at("bytes").get<base::Bytes>(),
                  .mtime_ns = json.at("mtime_ns").get<std::int64_t>(),
                  .imported_at_ms = json.at("imported_at_ms").get<std::int64_t>(),
                  .verified_at_ms = json.at("verified_at_ms").get<std::int64_t>(),
                  .gguf = gguf_from(json.at("gguf"))};
}

Result<Manifest> decode_body(std::string_view body) {
  try {
    return manifest_from(Json::parse(body));
  } catch (const nlohmann::json::exception& error) {
    return corrupt(error.what());
  }
}

}  // namespace

std::string encode(const Manifest& manifest) {
  const Json json = {{"id", manifest.id.text()},
                     {"digest", manifest.digest.text()},
                     {"bytes", manifest.bytes},
                     {"mtime_ns", manifest.mtime_ns},
                     {"imported_at_ms", manifest.imported_at_ms},
                     {"verified_at_ms", manifest.verified_at_ms},
                     {"gguf", json_of(manifest.gguf)}};
  return base::seal(kTitle, kManifestVersion, json.dump(2) + "\n");
}

Result<Manifest> decode_manifest(std::string_view text) {
  const auto sealed = base::unseal(kTitle, text);
  if (!sealed) return corrupt(sealed.error().message);
  if (sealed->version > kManifestVersion) {
    return fail(ErrorCode::unsupported, fmt::format("the manifest is of version {}, this hearth reads up to version "
                                                    "{}; upgrade hearth or import the model again",
                                                    sealed->version, kManifestVersion));
  }
  return decode_body(sealed->body);
}

}  // namespace hearth::artifact
