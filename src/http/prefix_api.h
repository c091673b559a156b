#pragma once
// Beginnings of prompts that are kept (native API: /hearth/v1/prefixes).
#include <string>
#include <vector>

#include "domain/prefix.h"
#include "http/router.h"

namespace hearth::http {

// What this needs of the rest of Hearth. Thread: the I/O thread.
class PrefixShelf {
 public:
  virtual ~PrefixShelf() = default;
  [[nodiscard]] virtual rt::Task<std::vector<domain::PrefixView>> list() = 0;
  // Errors: not_found.
  [[nodiscard]] virtual rt::Task<base::Result<domain::PrefixView>> find(std::string id) = 0;
  // `request`: {"messages": […], "tools": […]} or {"prompt": "…"}. Errors: model_not_found, bad_request, io.
  [[nodiscard]] virtual rt::Task<base::Result<domain::PrefixView>> declare(domain::ModelId model, std::string name,
                                                                           domain::Json request) = 0;
  // Errors: not_found, bad_request (the configuration declares it).
  [[nodiscard]] virtual rt::Task<base::Status> remove(std::string id) = 0;
  // Errors: not_found, corrupt.
  [[nodiscard]] virtual rt::Task<base::Result<domain::PrefixView>> verify(std::string id) = 0;
};

// The shelf must outlive the router.
void add_prefix_routes(Router& router, PrefixShelf& shelf);

}  // namespace hearth::http
