#pragma once
// The one way in which Hearth reports an expected failure.
//
// A function that can fail returns Result<T>. The function that first sees the failure makes the Error; each caller
// that knows more adds a clause in front with `in_context`; the edge (HTTP answer, command line, log) prints it once.
// Exceptions are left for programming errors. Nothing here allocates unless there is an error.
#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hearth::base {

// What kind of failure, for programs. The first group is the native API's vocabulary (its HTTP status lies in
// src/http); the second group says what the operating system or a peer did, and reaches the API as one of the first.
enum class ErrorCode {
  model_not_found,
  does_not_fit,
  queue_full,
  loading,
  pinned_conflict,
  bad_request,
  unauthorized,
  engine_failed,
  corrupt,

  not_found,
  already_exists,
  in_use,
  permission,
  no_space,
  io,
  timeout,
  cancelled,
  unsupported,
  too_large,
  internal,
};

// The code's name exactly as above, as used in JSON.
std::string_view name_of(ErrorCode code);

struct Error {
  Error() = default;
  // Not an aggregate: GCC 12 copies aggregates made inside a co_return bit by bit.
  Error(ErrorCode with_code, std::string with_message,
        std::optional<std::chrono::milliseconds> with_retry_after = std::nullopt)
      : code(with_code), message(std::move(with_message)), retry_after(with_retry_after) {}

  ErrorCode code = ErrorCode::internal;
  // One sentence without a final full stop: the thing, the reason, and where there is one the mend.
  std::string message;
  // When trying again may help; becomes Retry-After.
  std::optional<std::chrono::milliseconds> retry_after = std::nullopt;
  // For programs: a JSON object of what the sentence says in numbers and names; empty: nothing. The native API's
  // `details`.
  std::string details = {};

  // The same error seen from one level up: "context: message".
  [[nodiscard]] Error in_context(std::string_view context) const&;
  [[nodiscard]] Error in_context(std::string_view context) &&;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

// `return fail(ErrorCode::io, "…")` in any function that returns a Result.
[[nodiscard]] std::unexpected<Error> fail(ErrorCode code, std::string message);
// `return pass(result, "starting model x")` hands a failed result up with a clause in front. REQUIRES: !result.
template <typename T>
[[nodiscard]] std::unexpected<Error> pass(Result<T>& result, std::string_view context) {
  return std::unexpected(std::move(result.error()).in_context(context));
}
template <typename T>
[[nodiscard]] std::unexpected<Error> pass(Result<T>&& result, std::string_view context) {
  return pass(result, context);
}
template <typename T>
[[nodiscard]] std::unexpected<Error> pass(Result<T>& result) {
  return std::unexpected(std::move(result.error()));
}

// The error of a failed system call: errno mapped to a code, its text appended to `what` ("opening /x: Permission
// denied").
[[nodiscard]] Error error_from_errno(std::string_view what, int error_number);
[[nodiscard]] std::unexpected<Error> fail_errno(std::string_view what, int error_number);

}  // namespace hearth::base
