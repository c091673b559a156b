#include "base/result.h"

#include <cerrno>
#include <system_error>

namespace hearth::base {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::model_not_found:
      return "model_not_found";
    case ErrorCode::does_not_fit:
      return "does_not_fit";
    case ErrorCode::queue_full:
      return "queue_full";
    case ErrorCode::loading:
      return "loading";
    case ErrorCode::pinned_conflict:
      return "pinned_conflict";
    case ErrorCode::bad_request:
      return "bad_request";
    case ErrorCode::unauthorized:
      return "unauthorized";
    case ErrorCode::engine_failed:
      return "engine_failed";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::already_exists:
      return "already_exists";
    case ErrorCode::in_use:
      return "in_use";
    case ErrorCode::permission:
      return "permission";
    case ErrorCode::no_space:
      return "no_space";
    case ErrorCode::io:
      return "io";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::too_large:
      return "too_large";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

Error Error::in_context(std::string_view context) const& { return Error(*this).in_context(context); }

Error Error::in_context(std::string_view context) && {
  message.insert(0, ": ").insert(0, context);
  return std::move(*this);
}

std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

namespace {

ErrorCode code_of_errno(int error_number) {
  switch (error_number) {
    case ENOENT:
      return ErrorCode::not_found;
    case EEXIST:
      return ErrorCode::already_exists;
    case EADDRINUSE:
    case EBUSY:
      return ErrorCode::in_use;
    case EACCES:
    case EROFS:
    case EPERM:
      return ErrorCode::permission;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::no_space;
    case ETIMEDOUT:
      return ErrorCode::timeout;
    case ENOSYS:
    case EOPNOTSUPP:
      return ErrorCode::unsupported;
    case EFBIG:
      return ErrorCode::too_large;
    default:
      return ErrorCode::io;
  }
}

}  // namespace

Error error_from_errno(std::string_view what, int error_number) {
  return Error{code_of_errno(error_number), std::string(what) + ": " + std::generic_category().message(error_number)};
}

std::unexpected<Error> fail_errno(std::string_view what, int error_number) {
  return std::unexpected(error_from_errno(what, error_number));
}

}  // namespace hearth::base
