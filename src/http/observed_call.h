#pragma once
// What every dialect does alike with a request that an engine answers: it is observed from its first byte to its last,
// the client is watched meanwhile, and there is a record of it on every way out.
//
// Thread: the I/O thread. A call lives in the coroutine that serves it; the observer is shared by all.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/engine_stream.h"
#include "http/exchange.h"
#include "http/ports.h"

namespace hearth::http {

// The largest whole answer that is put together in memory.
inline constexpr std::size_t kLargestAnswer = 64U << 20;

struct ObservedCall {
  ObservedCall(domain::Api api, Exchange& with);

  Exchange& exchange;
  domain::RequestObservation seen;
  std::unique_ptr<EngineLease> lease;
  std::unique_ptr<EngineStream> engine;  // from ask() on
  bool answered = false;                 // the whole answer has been handed to the client's socket
};

class CallObserver {
 public:
  CallObserver(RequestJournal& journal, const base::Clock& clock) : journal_(journal), clock_(clock) {}

  // Awaits `answer`. When the client leaves first, it is cancelled and the call is recorded as left.
  [[nodiscard]] rt::Task<void> while_client_stays(ObservedCall& call, rt::Task<void> answer) const;
  // The call has its lease.
  void admitted(ObservedCall& call) const;
  // Sends the body, fitted to what the engine's slots hold, and reads the head of the answer. REQUIRES: admitted.
  // Errors: as EngineStream::ask.
  [[nodiscard]] rt::Task<base::Status> ask(ObservedCall& call, std::string path, std::string body) const;
  // What has been seen of the answer by now.
  void note(ObservedCall& call, bool prefill_began, bool first_token) const;
  // How answering ended: what the client is to be told; nothing when it has its answer, or has left.
  [[nodiscard]] rt::Task<std::optional<base::Error>> ended(ObservedCall& call, base::Status done) const;
  // Adds Server-Timing with what is known by now.
  void add_timing(ObservedCall& call, std::vector<Header>& headers) const;
  // Last of all: `well` tells whether the engine has done its part.
  void record(ObservedCall& call, bool well) const;

 private:
  RequestJournal& journal_;
  const base::Clock& clock_;
};

}  // namespace hearth::http
