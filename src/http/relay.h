#pragma once
// Carries one OpenAI request to an engine and its answer back, and observes it on the way.
//
// The client's connection is watched all the time: when it closes, the relay is cancelled, which closes the connection
// to the engine, which cancels this request there and no other. A model start that is under way goes on.
#include "http/exchange.h"
#include "http/observed_call.h"
#include "http/ports.h"
#include "http/relay_body.h"

namespace hearth::http {

class Relay {
 public:
  Relay(EngineGate& gate, RequestJournal& journal, const base::Clock& clock)
      : gate_(gate), clock_(clock), observer_(journal, clock) {}

  // Answers the exchange, whatever happens, and records it in the journal.
  [[nodiscard]] rt::Task<void> serve(Endpoint endpoint, Exchange& exchange);

 private:
  struct Call;
  [[nodiscard]] rt::Task<void> answer(Call& call);
  [[nodiscard]] rt::Task<base::Status> prepare(Call& call);
  [[nodiscard]] rt::Task<base::Status> carry_answer(Call& call);
  [[nodiscard]] rt::Task<base::Status> carry_stream(Call& call);
  [[nodiscard]] rt::Task<base::Status> carry_whole(Call& call);
  [[nodiscard]] rt::Task<base::Status> carry_plain(Call& call);
  [[nodiscard]] rt::Task<void> fail(Call& call, base::Error error);
  [[nodiscard]] std::vector<Header> headers_for(Call& call, bool stream) const;
  [[nodiscard]] rt::Task<base::Status> reply_whole(Call& call, unsigned status, std::string body);
  void note(Call& call) const;
  void finish(Call& call);

  EngineGate& gate_;
  const base::Clock& clock_;
  CallObserver observer_;
};

}  // namespace hearth::http
