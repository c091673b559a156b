#pragma once
// Why a request for a model got no memory, as an error: the sentence for people, the numbers for programs. Pure.
#include "base/clock.h"
#include "base/result.h"
#include "domain/model_id.h"
#include "policy/admission.h"
#include "policy/fit.h"

namespace hearth::keeper {

// It can never fit: does_not_fit, or pinned_conflict where it would without what is pinned (`pinned`: those models).
// details: needed, available, largest_context, smaller_quantisations; pinned. Or pinned_conflict where it could only be
// loaded in the place of what is kept forever for a higher class. details: needed, available, kept_forever.
[[nodiscard]] base::Error never_fits(const domain::ModelId& id, const policy::FitVerdict& verdict,
                                     std::span<const domain::ModelId> pinned);

// It waited for `waited` and its turn did not come: loading where models hold what it lacks, does_not_fit where
// something else on the machine does. details: needed, available, waits_for. Retry after `expected`, if it is known.
[[nodiscard]] base::Error waited_in_vain(const domain::ModelId& id, const policy::FitVerdict& verdict,
                                         base::Duration waited);

// More wait already than may. details: waiting, class.
[[nodiscard]] base::Error no_place(const domain::ModelId& id, domain::ServiceClass service_class,
                                   const policy::QueueVerdict& verdict);

}  // namespace hearth::keeper
