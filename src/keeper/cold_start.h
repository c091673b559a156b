#pragma once
// What the class of a model is promised of a cold start, as people are told. Pure.
#include "domain/model.h"
#include "policy/admission.h"

namespace hearth::keeper {

// `rung`: where the model is. A promise that holds only where the model is kept warm is not kept where it is colder.
[[nodiscard]] domain::ColdStart cold_start_of(const policy::ColdStartPromise& promise,
                                              std::optional<base::Duration> limit, policy::Rung rung);

}  // namespace hearth::keeper
