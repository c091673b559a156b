#pragma once
// What the handlers of the native API share: a handler says what it answers, telling it, or its error, is the same
// everywhere.
#include <fmt/format.h>

#include "http/respond.h"
#include "http/router.h"

namespace hearth::http {

inline constexpr std::string_view kNativeBase = "/hearth/v1";

struct NativeAnswer {
  NativeAnswer(unsigned with_status, domain::Json with_json) : status(with_status), json(std::move(with_json)) {}
  unsigned status;
  domain::Json json;
};
using NativeWork = rt::Task<base::Result<NativeAnswer>>;

// Tells what `work` comes to.
[[nodiscard]] rt::Task<void> tell(Exchange& exchange, NativeWork work);

// Adds a route below kNativeBase. `work`: Exchange& -> NativeWork, no coroutine itself.
template <typename Work>
void add_native_route(Router& router, beast::http::verb method, std::string_view path, Work work) {
  router.add(method, fmt::format("{}{}", kNativeBase, path),
             [work](Exchange& exchange) { return tell(exchange, work(exchange)); });
}

// JSON is made in plain functions: GCC 12 cannot keep a braced list alive across a suspension.
template <typename Values>
[[nodiscard]] domain::Json listed(const char* name, const Values& values) {
  domain::Json array = domain::Json::array();
  for (const auto& value : values)
    array.push_back(to_json(value));
  return {{name, std::move(array)}};
}

[[nodiscard]] inline domain::Json removal_of(std::string_view id) { return {{"removed", id}}; }

}  // namespace hearth::http
