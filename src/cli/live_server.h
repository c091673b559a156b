#pragma once
// What a live replay asks of a running server, over the public API. Private to src/cli.
//
// One thread at a time, but for ask(), which any number of threads may call beside it.
// Errors: those of client::NativeClient, and what is said besides.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "client/native_client.h"
#include "domain/json.h"
#include "domain/model_id.h"

namespace hearth::cli {

class LiveServer {
 public:
  using Pause = std::function<bool(std::chrono::milliseconds)>;  // false: stop what you do
  LiveServer(client::NativeClient client, Pause pause) : client_(std::move(client)), pause_(std::move(pause)) {}

  struct Model {
    domain::ServiceClass service_class = domain::ServiceClass::interactive;
    base::Bytes reserved = 0;
  };
  [[nodiscard]] base::Result<Model> model(const domain::ModelId& id) const;

  // Until its engine is gone; that it has none is no error. How long it took, in seconds.
  [[nodiscard]] base::Result<double> stop(const domain::ModelId& id) const;
  // The same until its weights have left memory. Empty: its engine cannot.
  [[nodiscard]] base::Result<std::optional<double>> hibernate(const domain::ModelId& id) const;

  // A prompt of so many tokens that begins like no other (ids from 300 to 1299, by `seed`), and an answer of so many.
  struct Question {
    domain::ModelId id;
    std::uint32_t prompt_tokens = 1;
    std::uint32_t answer_tokens = 1;
    std::uint64_t seed = 0;
    std::optional<std::string> keep_alive = std::nullopt;
  };
  // Until the answer is complete: the request's id.
  [[nodiscard]] base::Result<std::string> ask(const Question& question) const;
  // Its timeline, which is there a moment after the answer; waits that long.
  [[nodiscard]] base::Result<domain::RequestRecord> timeline(const std::string& request_id) const;

  struct Memory {
    base::Bytes reserved = 0;  // by models
    base::Bytes free = 0;      // for models
  };
  [[nodiscard]] base::Result<Memory> memory() const;
  // EVENTs after the one of that id, oldest first.
  [[nodiscard]] base::Result<domain::Json> events(std::uint64_t since) const;

  [[nodiscard]] bool pause(std::chrono::milliseconds span) const { return pause_(span); }
  [[nodiscard]] const std::string& url() const { return client_.endpoint().url; }

 private:
  [[nodiscard]] base::Result<double> cool(const domain::ModelId& id, std::string_view layer) const;

  client::NativeClient client_;
  Pause pause_;
};

}  // namespace hearth::cli
