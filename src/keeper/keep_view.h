#pragma once
// The votes on a model, as they are told. Pure.
#include "base/clock.h"
#include "domain/keep_alive.h"
#include "policy/keep_alive.h"

namespace hearth::keeper {

[[nodiscard]] policy::KeepWish wish_of(const domain::KeepAlive& keep_alive);

// `now` and `wall` are the same instant. Votes whose time is up are left out. A vote whose request runs is told as if
// that ended now.
[[nodiscard]] domain::Keep keep_of(const policy::KeepVotes& votes, bool pinned, base::Mono now, base::Wall wall);

}  // namespace hearth::keeper
