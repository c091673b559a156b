#pragma once
// Which handler answers a request: a table of (method, path pattern, handler). A pattern part in braces matches one
// non-empty path segment and is handed on percent-decoded: "/hearth/v1/models/{id}". Filled before the server starts,
// constant afterwards; handlers live as long as the router.
#include <boost/beast/http/verb.hpp>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"

namespace hearth::http {

using Handler = std::function<rt::Task<void>(Exchange&)>;

class Router {
 public:
  void add(beast::http::verb method, std::string_view pattern, Handler handler);

  struct Match {
    const Handler* handler = nullptr;  // null: the path or the method is unknown
    bool path_known = false;
    std::map<std::string, std::string> parts;
  };
  // HEAD finds the handler of GET.
  [[nodiscard]] Match match(beast::http::verb method, std::string_view path) const;

 private:
  struct Route {
    beast::http::verb method;
    std::vector<std::string> pattern;
    Handler handler;
  };
  std::vector<Route> routes_;
};

// Turns %XX into bytes; empty when an escape is broken.
[[nodiscard]] std::string percent_decode(std::string_view text);

}  // namespace hearth::http
