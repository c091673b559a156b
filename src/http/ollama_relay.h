#pragma once
// Carries one request of Ollama's /api/generate or /api/chat to an engine and its answer back, and observes it on the
// way, as Relay does for the OpenAI dialect: the same gate, the same observation, the same watch over a client that
// leaves.
//
// A client that streams sees bytes at least every kSilence, also while a model loads: the first of them begins the
// answer, so an error after it is its last line and not its status. Chunks with no text are the only such bytes that
// this dialect has.
#include "http/exchange.h"
#include "http/observed_call.h"
#include "http/ollama_answer.h"
#include "http/ollama_request.h"
#include "http/ports.h"

namespace hearth::http {

class OllamaRelay {
 public:
  OllamaRelay(EngineGate& gate, ModelShelf& shelf, RequestJournal& journal, const base::Clock& clock)
      : gate_(gate), shelf_(shelf), clock_(clock), observer_(journal, clock) {}

  // Answers the exchange, whatever happens, and records it in the journal.
  [[nodiscard]] rt::Task<void> serve(OllamaCall call, Exchange& exchange);

 private:
  // Some clients give up after a minute without a byte, others after five.
  static constexpr std::chrono::seconds kSilence{20};
  struct Call;
  [[nodiscard]] rt::Task<base::Status> prepare(Call& call);
  [[nodiscard]] rt::Task<void> answer(Call& call);
  [[nodiscard]] rt::Task<base::Status> give(Call& call);
  [[nodiscard]] rt::Task<base::Status> acquire(Call& call);
  [[nodiscard]] rt::Task<base::Status> acquire_in_company(Call& call);
  [[nodiscard]] rt::Task<base::Error> keep_company(Call& call);
  [[nodiscard]] rt::Task<base::Status> unload(Call& call);
  [[nodiscard]] rt::Task<base::Status> check_thinking(Call& call);
  [[nodiscard]] rt::Task<base::Status> add_what_was_said(Call& call);
  [[nodiscard]] rt::Task<base::Status> carry(Call& call);
  [[nodiscard]] rt::Task<base::Status> pass_refusal(Call& call);
  [[nodiscard]] rt::Task<base::Status> begin(Call& call);
  [[nodiscard]] rt::Task<base::Status> say(Call& call, std::string_view lines);
  [[nodiscard]] rt::Task<base::Status> conclude(Call& call);
  [[nodiscard]] rt::Task<base::Status> tell_whole(Call& call, unsigned status, std::string body);
  [[nodiscard]] rt::Task<void> fail(Call& call, base::Error error);
  [[nodiscard]] rt::Task<base::Result<nlohmann::ordered_json>> small_question(Call& call, std::string_view path,
                                                                              nlohmann::ordered_json body);
  [[nodiscard]] rt::Task<base::Result<nlohmann::ordered_json>> context_after(Call& call);
  [[nodiscard]] OllamaAnswer::Figures figures(const Call& call) const;
  [[nodiscard]] std::vector<Header> headers_for(Call& call) const;
  void note(Call& call) const;
  void finish(Call& call);

  EngineGate& gate_;
  ModelShelf& shelf_;
  const base::Clock& clock_;
  CallObserver observer_;
};

// The reply that tells an error in Ollama's shape; `model` is the name that was asked for.
[[nodiscard]] Reply ollama_error_reply(const base::Error& error, std::string_view model);

}  // namespace hearth::http
