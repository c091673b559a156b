#include <fmt/format.h>

#include <ostream>

#include "cli/commands.h"
#include "cli/json_view.h"
#include "cli/waterfall.h"

namespace hearth::cli {
namespace {

using domain::Json;

base::Result<Json> fetch_last(const client::NativeClient& client, unsigned count) {
  auto answer = client.get(fmt::format("/hearth/v1/requests?last={}", count));
  if (!answer) return base::pass(answer);
  if (at_path(answer->body, {"requests"}).is_array()) return std::move(answer->body);
  return base::fail(
      base::ErrorCode::internal,
      fmt::format("{} answered without a list of requests; is it a Hearth server?", client.endpoint().url));
}

base::Result<Json> fetch_one(const client::NativeClient& client, const std::optional<std::string>& id) {
  if (id) {
    auto answer = client.get("/hearth/v1/requests/" + client::path_segment(*id));
    if (!answer) return base::pass(answer);
    return std::move(answer->body);
  }
  auto document = fetch_last(client, 1);
  if (!document) return base::pass(document);
  Json& requests = (*document)["requests"];
  if (!requests.empty()) return std::move(requests.front());
  return base::fail(base::ErrorCode::not_found, "no request is recorded yet; ask something with `hearth run MODEL`");
}

base::Status print_all(const Json& requests, Console& console) {
  if (requests.empty()) console.out << "no request is recorded yet; ask something with `hearth run MODEL`\n";
  for (const auto& request : requests) {
    if (&request != &requests.front()) console.out << "\n";
    if (auto printed = print_request(request, console); !printed) return printed;
  }
  return {};
}

}  // namespace

base::Status print_request(const Json& request, Console& console) {
  const auto record = domain::request_from_json(request);
  if (!record) return std::unexpected(record.error().in_context("reading the server's record of the request"));
  console.out << waterfall(*record, console.style);
  return {};
}

Outcome explain_requests(const Invocation& invocation, Console& console) {
  auto client = connect(console);
  if (!client) return base::pass(client);
  auto document = invocation.last ? fetch_last(*client, *invocation.last) : fetch_one(*client, invocation.request);
  if (!document) return base::pass(document);
  if (invocation.json) {
    print_json(console, *document);
    return 0;
  }
  auto printed = invocation.last ? print_all((*document)["requests"], console) : print_request(*document, console);
  if (!printed) return base::pass(printed);
  return 0;
}

}  // namespace hearth::cli
