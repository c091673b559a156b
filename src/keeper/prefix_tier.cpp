#include "keeper/prefix_tier.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/scope_exit.h"
#include "base/sha256.h"
#include "domain/json_text.h"

namespace hearth::keeper {

using base::ErrorCode;
using domain::Json;
using domain::PrefixView;

namespace {

constexpr base::Bytes kLargestDeclared = 64U << 20;
constexpr int kFormat = 1;
constexpr std::chrono::seconds kLongestWrite{60};

base::Wall wall_of(std::int64_t ms) { return base::Wall{} + std::chrono::milliseconds(ms); }

PrefixView view_of(const prefix::IndexRow& row) {
  PrefixView view;
  view.id = row.key;
  view.model = row.record.model;
  view.name = row.record.name;
  view.origin = name_of(row.record.origin);
  view.state = "stored";
  view.key = row.key;
  view.bytes = row.record.state_bytes;
  view.prefill_ms_per_token = row.record.prefill_ms_per_token;
  view.uses = static_cast<std::uint64_t>(row.uses);
  view.saved_at = wall_of(row.record.saved_at_ms);
  if (row.last_used_ms > 0) view.last_used_at = wall_of(row.last_used_ms);
  return view;
}

bool is_declaration(const Json& json) {
  const auto text = [&](const char* key) { return json.contains(key) && json[key].is_string(); };
  return json.is_object() && text("id") && text("model") && text("name") && json.contains("request") &&
         json["request"].is_object();
}

}  // namespace

PrefixTier::PrefixTier(Parts parts) : parts_(std::move(parts)) {
  for (const auto& declared : parts_.configured)
    declared_.emplace(declared.id, declared);
  read_declared();
}

std::string PrefixTier::id_of(const domain::ModelId& model, const std::string& name) {
  base::Sha256 hash;
  hash.add_part(model.text());
  hash.add_part(name);
  return hash.finish_hex().substr(0, 16);
}

void PrefixTier::read_declared() {
  const auto text = parts_.files.read(parts_.declared_path, kLargestDeclared);
  if (!text && text.error().code == ErrorCode::not_found) return;
  const Json json = text ? Json::parse(*text, nullptr, false) : Json();
  const bool usable = json.is_object() && json.contains("format") && json["format"] == kFormat &&
                      json.contains("prefixes") && json["prefixes"].is_array();
  if (!usable) {
    domain::Event event;
    event.at = parts_.clock.wall();
    event.what = "prefix_quarantined";
    event.layer = domain::Layer::prefix;
    event.why = "declared.json cannot be read and is set aside as declared.json.bad";
    parts_.on_event(std::move(event));
    // Where it cannot be moved, the next declaration replaces it.
    (void)parts_.files.rename(parts_.declared_path, parts_.declared_path + ".bad");
    return;
  }
  for (const auto& one : json["prefixes"]) {
    if (!is_declaration(one)) continue;
    auto model = domain::ModelId::parse(one["model"].get<std::string>());
    if (!model) continue;
    DeclaredPrefix declared{one["id"].get<std::string>(), std::move(*model), one["name"].get<std::string>(),
                            one["request"], false};
    declared_.emplace(declared.id, std::move(declared));
  }
}

std::string PrefixTier::written() const {
  Json prefixes = Json::array();
  for (const auto& [id, declared] : declared_) {
    if (declared.from_config) continue;
    const Json one = {
        {"id", id}, {"model", declared.model.text()}, {"name", declared.name}, {"request", declared.request}};
    prefixes.push_back(one);
  }
  const Json json = {{"format", kFormat}, {"prefixes", std::move(prefixes)}};
  return domain::text_of(json);
}

// Two at once would write to the same temporary file; one that waited has its change written with the others'.
rt::Task<base::Status> PrefixTier::keep_declared() {
  const std::uint64_t mine = ++changes_;
  if (!written_) written_.emplace(co_await rt::asio::this_coro::executor);
  while (writing_) {
    const bool ended = co_await written_->wait_until(std::chrono::steady_clock::now() + kLongestWrite);
    if (!ended) co_return base::fail(ErrorCode::timeout, "the change before it is still being written; ask again");
  }
  if (kept_ >= mine) co_return base::Status{};
  writing_ = true;
  const base::ScopeExit ended([this] {
    writing_ = false;
    written_->notify_all();
  });
  const std::uint64_t latest = changes_;
  const std::string text = written();
  auto kept = co_await parts_.pool.run([&] { return sys::write_atomic(parts_.files, parts_.declared_path, text); });
  if (kept) kept_ = latest;
  co_return kept;
}

bool PrefixTier::is_declared(const std::string& model, const std::string& name) const {
  const auto id = domain::ModelId::parse(model);
  return id && declared_.contains(id_of(*id, name));
}

std::vector<DeclaredPrefix> PrefixTier::declared_for(const domain::ModelId& model) const {
  std::vector<DeclaredPrefix> mine;
  for (const auto& [id, declared] : declared_) {
    if (declared.model == model) mine.push_back(declared);
  }
  return mine;
}

std::shared_ptr<PrefixSession> PrefixTier::open(PrefixPlan plan) {
  const domain::ModelId model = plan.model;
  PrefixSession::Parts parts{*parts_.store,
                             parts_.pool,
                             parts_.pages,
                             parts_.clock,
                             [this, model] { return declared_for(model); },
                             [this](const std::string& of, const std::string& name) { return is_declared(of, name); },
                             parts_.on_event};
  auto session = std::make_shared<PrefixSession>(std::move(plan), std::move(parts));
  sessions_[model] = session;
  return session;
}

std::shared_ptr<PrefixSession> PrefixTier::session_of(const domain::ModelId& model) const {
  const auto found = sessions_.find(model);
  return found == sessions_.end() ? nullptr : found->second.lock();
}

// The state of a declared prefix: by its tokens where its model ran, else by the name that was saved with it.
const prefix::IndexRow* PrefixTier::row_of(const DeclaredPrefix& declared,
                                           const std::vector<prefix::IndexRow>& rows) const {
  const auto session = session_of(declared.model);
  const auto match = session ? session->stored(declared.id) : std::nullopt;
  const auto found = std::ranges::find_if(rows, [&](const prefix::IndexRow& row) {
    if (match) return row.key == match->key;
    return !session && row.record.origin == prefix::Origin::declared && row.record.name == declared.name &&
           row.record.model == declared.model.text();
  });
  return found == rows.end() ? nullptr : &*found;
}

PrefixView PrefixTier::view_of(const DeclaredPrefix& declared, const std::vector<prefix::IndexRow>& rows) const {
  const prefix::IndexRow* row = row_of(declared, rows);
  PrefixView view = row != nullptr ? keeper::view_of(*row) : PrefixView{};
  view.id = declared.id;
  view.model = declared.model.text();
  view.name = declared.name;
  view.origin = "declared";
  if (row != nullptr) return view;
  view.state = "pending";
  view.why = "it is computed when its model is idle";
  const auto session = session_of(declared.model);
  if (const auto why = session ? session->why_not_stored(declared.id) : std::nullopt) view.why = why;
  if (const auto why = session ? session->ineffective() : std::nullopt) {
    view.state = "ineffective";
    view.why = why;
  }
  return view;
}

rt::Task<std::vector<PrefixView>> PrefixTier::list() {
  const auto rows = co_await parts_.pool.run([this] {
    auto found = parts_.store->list();
    for (auto& row : found) {
      if (auto full = parts_.store->row(row.key)) row.record.tokens = std::move(full->record.tokens);
    }
    return found;
  });
  std::vector<PrefixView> views;
  std::vector<std::string> named;
  for (const auto& [id, declared] : declared_) {
    views.push_back(view_of(declared, rows));
    if (views.back().key) named.push_back(*views.back().key);
  }
  for (const auto& row : rows) {
    if (std::ranges::find(named, row.key) == named.end()) views.push_back(keeper::view_of(row));
  }
  for (auto& view : views) {
    const auto row = std::ranges::find(rows, view.key.value_or(""), &prefix::IndexRow::key);
    if (row != rows.end()) view.tokens = row->record.tokens.size();
  }
  co_return views;
}

rt::Task<base::Result<PrefixView>> PrefixTier::find(std::string id) {
  const auto views = co_await list();
  const auto found =
      std::ranges::find_if(views, [&](const PrefixView& view) { return view.id == id || view.key == id; });
  if (found != views.end()) co_return *found;
  co_return base::fail(ErrorCode::not_found, "no such prefix is stored or declared; `hearth prefix list` shows them");
}

rt::Task<base::Result<PrefixView>> PrefixTier::declare(domain::ModelId model, std::string name, Json request) {
  const std::string id = id_of(model, name);
  if (const auto known = declared_.find(id); known != declared_.end() && known->second.from_config)
    co_return base::fail(
        ErrorCode::bad_request,
        fmt::format("the configuration declares a prefix \"{}\" of {}; change it there", name, model.text()));
  DeclaredPrefix declared{id, model, std::move(name), std::move(request), false};
  declared_.insert_or_assign(id, std::move(declared));
  if (const auto session = session_of(model)) session->forget_declared(id);
  auto kept = co_await keep_declared();
  if (!kept) co_return base::pass(kept, "keeping the declared prefix");
  co_return co_await find(id);
}

rt::Task<base::Status> PrefixTier::remove(std::string id) {
  auto view = co_await find(id);
  if (!view) co_return base::pass(view);
  if (const auto known = declared_.find(view->id); known != declared_.end()) {
    if (known->second.from_config)
      co_return base::fail(ErrorCode::bad_request, "the configuration declares this prefix; take it out there");
    declared_.erase(known);
    auto kept = co_await keep_declared();
    if (!kept) co_return base::pass(kept, "removing the declared prefix");
  }
  if (!view->key) co_return base::Status{};
  const std::string key = *view->key;
  auto removed = co_await parts_.pool.run([&] { return parts_.store->remove(key); });
  if (!removed) co_return base::pass(removed);
  co_return base::Status{};
}

rt::Task<base::Result<PrefixView>> PrefixTier::verify(std::string id) {
  auto view = co_await find(id);
  if (!view) co_return base::pass(view);
  if (!view->key)
    co_return base::fail(ErrorCode::not_found,
                         "this prefix has no stored state yet; it is computed when its model is idle");
  const std::string key = *view->key;
  auto good = co_await parts_.pool.run([&] { return parts_.store->verify(key); });
  if (!good) co_return base::pass(good);
  co_return *view;
}

}  // namespace hearth::keeper
