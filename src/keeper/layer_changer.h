#pragma once
// Warms, cools, pins and unpins one layer of one model, and says how long it took and how many bytes moved.
//
// Thread: the I/O thread; what blocks runs on the pool. Each change has its own deadline; cancelling the caller cancels
// a hibernate or wake in the engine, and leaves the rest to finish by itself.
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "domain/layer.h"
#include "domain/layer_work.h"
#include "engine/tier_link.h"
#include "keeper/resident.h"
#include "rt/blocking_pool.h"
#include "sys/pages.h"

namespace hearth::keeper {

using WorkResult = base::Result<domain::LayerWork>;

// Of weights that are hibernated.
enum class Pages { drop, keep };

class LayerChanger {
 public:
  LayerChanger(rt::BlockingPool& pool, sys::Pages& pages, const base::Clock& clock)
      : pool_(pool), pages_(pages), clock_(clock) {}

  // Reads the file into the page cache and waits until it has arrived, or no more of it does.
  [[nodiscard]] rt::Task<WorkResult> warm_pages(std::string path);
  // Drops the file from the page cache. Pages that a process maps stay; bytes says what left.
  [[nodiscard]] rt::Task<WorkResult> cool_pages(std::string path);

  // Weights out of memory, back into it, locked, unlocked; by the library in the engine. Errors: in_use (a request is
  // running), unsupported (no library there, or it lacks the power; says why), loading (the engine is not up).
  // `pages`: what becomes of the weights' pages. Those that are kept are no longer counted as the model's, and are the
  // first that the kernel takes when memory is short; bytes then says nothing. A model that is hibernated already has
  // its pages dropped.
  [[nodiscard]] rt::Task<WorkResult> hibernate(std::shared_ptr<Resident> resident, Pages pages = Pages::drop);
  [[nodiscard]] rt::Task<WorkResult> wake(std::shared_ptr<Resident> resident);
  [[nodiscard]] rt::Task<WorkResult> pin(std::shared_ptr<Resident> resident);
  [[nodiscard]] rt::Task<WorkResult> unpin(std::shared_ptr<Resident> resident);
  // The weights as they are in memory now; unknown without a library that can tell.
  [[nodiscard]] rt::Task<domain::LayerReading> measure_weights(std::shared_ptr<Resident> resident);

 private:
  [[nodiscard]] rt::Task<base::Result<engine::TierReply>> command(std::shared_ptr<Resident> resident, engine::TierOp op,
                                                                  engine::TierOptions options = {});
  [[nodiscard]] rt::Task<base::Bytes> resident_bytes(const std::string& path);

  rt::BlockingPool& pool_;
  sys::Pages& pages_;
  const base::Clock& clock_;
};

}  // namespace hearth::keeper
