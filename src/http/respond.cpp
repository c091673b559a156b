#include "http/respond.h"

#include <spdlog/spdlog.h>

#include "domain/json_text.h"
#include "http/error_reply.h"

namespace hearth::http {
namespace {

rt::Task<void> send(Exchange& exchange, Reply reply) {
  if (auto sent = co_await exchange.reply(std::move(reply)); !sent)
    spdlog::debug("request {}: {}", exchange.id(), sent.error().message);
}

}  // namespace

Reply error_reply(domain::Api api, const base::Error& error) {
  Reply reply{.status = status_of(error.code),
              .content_type = "application/json",
              .body = error_body(api, error),
              .headers = {}};
  if (auto seconds = retry_after_of(error)) reply.headers.emplace_back("Retry-After", *seconds);
  return reply;
}

rt::Task<void> respond_json(Exchange& exchange, unsigned status, domain::Json json) {
  Reply reply{
      .status = status, .content_type = "application/json", .body = domain::text_of(json) + "\n", .headers = {}};
  co_await send(exchange, std::move(reply));
}

rt::Task<void> respond_error(Exchange& exchange, domain::Api api, base::Error error) {
  co_await send(exchange, error_reply(api, error));
}

}  // namespace hearth::http
