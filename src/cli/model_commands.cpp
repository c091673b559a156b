#include <fmt/format.h>

#include <ostream>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json_view.h"
#include "cli/model_text.h"
#include "cli/progress.h"
#include "domain/model_id.h"

namespace hearth::cli {
namespace {

using domain::Json;

// For names that a person typed: checked here, so that the mistake is told before anything is asked.
base::Result<std::string> target_of(std::string_view model) {
  auto id = domain::ModelId::parse(model);
  if (!id) return base::pass(id);
  return "/hearth/v1/models/" + client::path_segment(id->text());
}

base::Result<domain::ModelId> id_for(const Invocation& invocation) {
  if (invocation.name) return domain::ModelId::parse(*invocation.name);
  auto id = domain::ModelId::from_file_name(invocation.file.filename().string());
  if (!id) return base::pass(id, "making a name out of the file's; give one with --name");
  return id;
}

// The array of models, or a document that holds none.
base::Result<Json> fetch_models(const client::NativeClient& client) {
  auto answer = client.get("/hearth/v1/models");
  if (!answer) return base::pass(answer);
  if (at_path(answer->body, {"models"}).is_array()) return std::move(answer->body);
  return base::fail(base::ErrorCode::internal,
                    fmt::format("{} answered without a list of models; is it a Hearth server?", client.endpoint().url));
}

base::Result<std::vector<std::string>> ids_to_verify(const Invocation& invocation, const client::NativeClient& client) {
  std::vector<std::string> ids;
  if (!invocation.model.empty()) {
    auto id = domain::ModelId::parse(invocation.model);
    if (!id) return base::pass(id);
    ids.push_back(id->text());
    return ids;
  }
  auto document = fetch_models(client);
  if (!document) return base::pass(document);
  for (const auto& model : (*document)["models"]) {
    if (auto id = text_at(model, {"id"})) ids.push_back(*std::move(id));
  }
  return ids;
}

std::string verification_text(const Json& found) {
  std::string text = base::printable(text_at(found, {"id"}).value_or("?"), 200);
  const auto fault = text_at(found, {"artifact", "fault"});
  text += fault ? fmt::format(": its file is damaged: {}", base::printable(*fault, 300))
                : fmt::format(": its file is sound, {}",
                              base::format_bytes(count_at(found, {"artifact", "bytes"}).value_or(0)));
  const auto files = count_at(found, {"packed", "files"}).value_or(0);
  text += files == 0 ? "; no packed weights\n"
                     : fmt::format("; {} packed file{}, {}\n", files, files == 1 ? "" : "s",
                                   base::format_bytes(count_at(found, {"packed", "bytes"}).value_or(0)));
  const Json& faults = at_path(found, {"packed", "faults"});
  for (const auto& one : faults.is_array() ? faults : Json::array())
    text += "  " + base::printable(one.is_string() ? one.get<std::string>() : one.dump(), 400) + "\n";
  return text;
}

Outcome print_models_once(const Invocation& invocation, Console& console, const client::NativeClient& client) {
  auto document = fetch_models(client);
  if (!document) return base::pass(document);
  if (invocation.json) {
    print_json(console, *document);
    return 0;
  }
  const Json& models = (*document)["models"];
  // In place: home, and erase what is below.
  const bool redraw = invocation.watch && console.out_is_terminal;
  if (redraw) console.out << "\x1b[H\x1b[J";
  console.out << (models.empty() ? "no models yet; bring one in with `hearth import FILE`\n"
                                 : layers_text(models, console.columns));
  if (invocation.watch && !redraw) console.out << "\n";
  console.out << std::flush;
  return 0;
}

}  // namespace

Outcome import_model(const Invocation& invocation, Console& console) {
  auto id = id_for(invocation);
  if (!id) return base::pass(id);
  auto client = connect(console);
  if (!client) return base::pass(client);
  ProgressLine progress(console);
  ProgressStep step{"importing " + id->text()};
  client->set_while_waiting([&] { progress.show(step); });
  const auto told = [&](std::uint64_t sent, std::uint64_t total) {
    step.done = sent;
    step.total = total;
    if (sent == total) step = {"checking " + id->text()};
    progress.show(step);
  };
  auto answer =
      client->put_file("/hearth/v1/models/" + client::path_segment(id->text()) + "/content", invocation.file, told);
  progress.finish();
  if (!answer) return base::pass(answer, "importing " + base::printable(invocation.file.string(), 200));
  if (invocation.json) {
    print_json(console, answer->body);
    return 0;
  }
  const auto size = count_at(answer->body, {"layers", "artifact", "total"});
  console.out << fmt::format("{} {}{}\n", id->text(),
                             answer->status == 200 ? "was there already with the same content" : "is imported",
                             size ? ", " + base::format_bytes(*size) : "");
  return 0;
}

Outcome list_models(const Invocation& invocation, Console& console) {
  auto client = connect(console);
  if (!client) return base::pass(client);
  auto document = fetch_models(*client);
  if (!document) return base::pass(document);
  if (invocation.json) {
    print_json(console, *document);
  } else if (const Json& models = (*document)["models"]; models.empty()) {
    console.out << "no models yet; bring one in with `hearth import FILE`\n";
  } else {
    console.out << list_text(models);
  }
  return 0;
}

Outcome show_model(const Invocation& invocation, Console& console) {
  auto target = target_of(invocation.model);
  if (!target) return base::pass(target);
  auto client = connect(console);
  if (!client) return base::pass(client);
  auto answer = client->get(*target);
  if (!answer) return base::pass(answer);
  if (invocation.json) {
    print_json(console, answer->body);
  } else {
    console.out << model_text(answer->body);
  }
  return 0;
}

Outcome remove_model(const Invocation& invocation, Console& console) {
  auto target = target_of(invocation.model);
  if (!target) return base::pass(target);
  auto client = connect(console);
  if (!client) return base::pass(client);
  auto answer = client->remove(*target);
  if (!answer) return base::pass(answer);
  const std::string id = base::to_lower(invocation.model);
  if (invocation.json) {
    print_json(console, answer->body.is_object() ? answer->body : Json{{"id", id}, {"deleted", true}});
  } else {
    console.out << id << " is deleted\n";
  }
  return 0;
}

Outcome change_layer(const Invocation& invocation, Console& console, std::string_view action) {
  auto target = target_of(invocation.model);
  if (!target) return base::pass(target);
  auto client = connect(console);
  if (!client) return base::pass(client);
  ProgressLine progress(console);
  const std::string layer = invocation.layer.value_or("weights");
  client->set_while_waiting([&] { progress.show({fmt::format("{} {} of {}", action, layer, invocation.model)}); });
  Json change = {{"layer", layer}};
  if (invocation.keep_alive) change["keep_alive"] = *invocation.keep_alive;
  auto answer = client->post(fmt::format("{}/{}?wait=1", *target, action), std::move(change));
  progress.finish();
  if (!answer) return base::pass(answer);
  if (invocation.json) {
    print_json(console, answer->body);
    return 0;
  }
  const Json& ms = at_path(answer->body, {"ms"});
  const auto bytes = count_at(answer->body, {"bytes"});
  console.out << fmt::format("{}: {} {}, {:.0f} ms{}\n", base::to_lower(invocation.model), layer, action,
                             ms.is_number() ? ms.get<double>() : 0.0, bytes ? ", " + base::format_bytes(*bytes) : "");
  return 0;
}

Outcome verify_models(const Invocation& invocation, Console& console) {
  auto client = connect(console);
  if (!client) return base::pass(client);
  auto ids = ids_to_verify(invocation, *client);
  if (!ids) return base::pass(ids);
  Json all = Json::array();
  bool sound = true;
  for (const auto& id : *ids) {
    ProgressLine progress(console);
    client->set_while_waiting([&] { progress.show({"verifying " + id}); });
    auto answer = client->post("/hearth/v1/models/" + client::path_segment(id) + "/verify", Json::object());
    client->set_while_waiting({});
    progress.finish();
    if (!answer) return base::pass(answer, "verifying " + id);
    sound = sound && at_path(answer->body, {"sound"}) == Json(true);
    if (!invocation.json) console.out << verification_text(answer->body);
    all.push_back(std::move(answer->body));
  }
  if (invocation.json) print_json(console, Json{{"models", std::move(all)}});
  return sound ? 0 : 1;
}

Outcome print_model_names(const Invocation&, Console& console) {
  auto client = connect(console);
  if (!client) return base::pass(client);
  auto document = fetch_models(*client);
  if (!document) return base::pass(document);
  for (const auto& model : (*document)["models"]) {
    // Only what is a name: this text goes into a shell.
    const auto id = domain::ModelId::parse(text_at(model, {"id"}).value_or(""));
    if (id) console.out << id->text() << "\n";
  }
  return 0;
}

Outcome watch_models(const Invocation& invocation, Console& console) {
  auto client = connect(console);
  if (!client) return base::pass(client);
  if (invocation.watch && console.out_is_terminal) console.out << "\x1b[2J";
  for (;;) {
    auto printed = print_models_once(invocation, console, *client);
    if (!printed || !invocation.watch || !console.out) return printed;
    if (!console.pause(std::chrono::seconds(1))) return 0;
  }
}

}  // namespace hearth::cli
