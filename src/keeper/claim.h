#pragma once
// One asker's place at a model, from the moment it asks until its request is over: while there is one the asker's vote
// does not age and the model is not cooled.
//
// Thread: the I/O thread. Shared ownership of the resident; what `on_end` uses outlives the claim.
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "keeper/processors.h"

namespace hearth::keeper {

class Claim {
 public:
  // `work` is for the asker. `on_end` is told, last of all, that the claim is over.
  Claim(std::shared_ptr<Resident> resident, std::string owner, std::unique_ptr<Work> work, const base::Clock& clock,
        std::function<void()> on_end)
      : resident_(std::move(resident)),
        owner_(std::move(owner)),
        work_(std::move(work)),
        clock_(clock),
        on_end_(std::move(on_end)) {}
  ~Claim() {
    work_.reset();
    resident_->votes.request_ended(owner_, clock_.now());
    on_end_();
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  std::shared_ptr<Resident> resident_;
  std::string owner_;
  std::unique_ptr<Work> work_;
  const base::Clock& clock_;
  std::function<void()> on_end_;
};

}  // namespace hearth::keeper
