#pragma once
// The prefix tier of the whole server: the store, what was declared, and the sessions of the models that ran.
//
// Thread: the I/O thread; the store's work runs on the pool. Outlives the sessions.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "domain/prefix.h"
#include "keeper/prefix_session.h"
#include "rt/notice.h"
#include "sys/files.h"

namespace hearth::keeper {

class PrefixTier {
 public:
  struct Parts {
    std::unique_ptr<prefix::Store> store;
    std::string declared_path;  // declared.json
    sys::Files& files;
    rt::BlockingPool& pool;
    sys::Pages& pages;
    const base::Clock& clock;
    std::vector<DeclaredPrefix> configured;
    std::function<void(domain::Event)> on_event;
  };
  // Reads what was declared; a file that cannot be read is set aside and told of.
  explicit PrefixTier(Parts parts);

  [[nodiscard]] prefix::Store& store() { return *parts_.store; }
  [[nodiscard]] std::shared_ptr<PrefixSession> open(PrefixPlan plan);

  [[nodiscard]] rt::Task<std::vector<domain::PrefixView>> list();
  // Errors: not_found.
  [[nodiscard]] rt::Task<base::Result<domain::PrefixView>> find(std::string id);
  // Declares, or replaces what has this model and name. Computed when its model is idle next. Errors: no_space, io,
  // timeout.
  [[nodiscard]] rt::Task<base::Result<domain::PrefixView>> declare(domain::ModelId model, std::string name,
                                                                   domain::Json request);
  // A declaration with its state, or a state. Errors: not_found; bad_request for one of the configuration.
  [[nodiscard]] rt::Task<base::Status> remove(std::string id);
  // Reads the state and compares its checksum. Errors: not_found, corrupt (it has just been set aside).
  [[nodiscard]] rt::Task<base::Result<domain::PrefixView>> verify(std::string id);

  // The names of a declaration.
  [[nodiscard]] static std::string id_of(const domain::ModelId& model, const std::string& name);

 private:
  void read_declared();
  [[nodiscard]] std::string written() const;
  // What is declared now, on disk; one write at a time. Errors: no_space, io, timeout.
  [[nodiscard]] rt::Task<base::Status> keep_declared();
  [[nodiscard]] bool is_declared(const std::string& model, const std::string& name) const;
  [[nodiscard]] std::vector<DeclaredPrefix> declared_for(const domain::ModelId& model) const;
  [[nodiscard]] std::shared_ptr<PrefixSession> session_of(const domain::ModelId& model) const;
  [[nodiscard]] domain::PrefixView view_of(const DeclaredPrefix& declared,
                                           const std::vector<prefix::IndexRow>& rows) const;
  [[nodiscard]] const prefix::IndexRow* row_of(const DeclaredPrefix& declared,
                                               const std::vector<prefix::IndexRow>& rows) const;

  Parts parts_;
  std::map<std::string, DeclaredPrefix> declared_;  // by id
  std::map<domain::ModelId, std::weak_ptr<PrefixSession>> sessions_;
  std::uint64_t changes_ = 0;  // of what is declared
  std::uint64_t kept_ = 0;     // of these, how many are on disk
  bool writing_ = false;
  std::optional<rt::Notice> written_;  // a write has ended; made when somebody waits first
};

}  // namespace hearth::keeper
