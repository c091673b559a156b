#pragma once
// Hearth's own API, /hearth/v1 (docs/http-api.md).
#include "http/layer_jobs.h"
#include "http/ports.h"
#include "http/router.h"

namespace hearth::http {

struct NativePorts {
  ModelShelf& shelf;
  LayerJobs& jobs;
  RequestJournal& journal;
  MachineProbe& machine;
};

// The ports must outlive the router.
void add_native_routes(Router& router, NativePorts ports);

}  // namespace hearth::http
