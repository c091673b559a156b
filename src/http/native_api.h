#pragma once
// Hearth's own API, /hearth/v1 (docs/http-api.md).
#include "http/ports.h"
#include "http/router.h"

namespace hearth::http {

struct NativePorts {
  ModelShelf& shelf;
  RequestJournal& journal;
  MachineProbe& machine;
};

// The ports must outlive the router.
void add_native_routes(Router& router, NativePorts ports);

}  // namespace hearth::http
