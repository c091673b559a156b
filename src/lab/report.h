#pragma once
// An experiment as one HTML page with plots: no script, nothing fetched, so that it can be kept and sent.
#include <string>
#include <vector>

#include "lab/experiment.h"

namespace hearth::lab {

// For each experiment: bars of cold-start seconds by class, bars of the voice class's time to first token, and the
// table. Names from a trace are escaped.
[[nodiscard]] std::string html_report(const std::vector<Experiment>& experiments);

}  // namespace hearth::lab
