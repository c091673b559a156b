// Hibernate, wake, pin and unpin of everything that holds weights: the arena's buffers and the engine's mapping of
// model files. Runs on the library's thread only; each call measures before and after and reports what really moved.
#pragma once

#include <atomic>
#include <cstdint>

#include "protocol.h"

namespace hearth::tier {

/// Carries out one command. Stops early with kCancelled when `stop` is seen set, with kBusy when the engine computes
/// during a hibernate.
void carry_out(const Command& command, Reply& reply);

/// Called once before the first command: what is polled between chunks (true = give up), and how many threads a wake
/// uses when the command does not say.
using StopCheck = bool (*)();
void configure(StopCheck check, unsigned readers);

}  // namespace hearth::tier
