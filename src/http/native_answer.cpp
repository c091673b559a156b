#include "http/native_answer.h"

namespace hearth::http {

rt::Task<void> tell(Exchange& exchange, NativeWork work) {
  auto answer = co_await std::move(work);
  if (answer) {
    co_await respond_json(exchange, answer->status, std::move(answer->json));
  } else {
    co_await respond_error(exchange, domain::Api::native, std::move(answer.error()));
  }
}

}  // namespace hearth::http
