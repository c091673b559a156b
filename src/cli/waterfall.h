#pragma once
// A request's timeline drawn for a terminal: one row a stage in the order in which they began, then its cause in a
// sentence. Pure.
//
// The ms column is the stage's share of the critical path, so it adds up; the bar is its span, so stages that overlap
// are drawn one above the other (shaded, where a stage shares its time). The axis is the whole request; where decoding
// took most of it, the axis ends at the first token and decode follows compressed, and a line says so.
#include <cstddef>
#include <string>

#include "domain/request.h"

namespace hearth::cli {

struct WaterfallStyle {
  std::size_t columns = 80;  // drawn within 50..200; below 72 without source and bytes
  bool ascii = false;        // nothing but ASCII comes out
  bool colour = false;       // ECMA-48 colour sequences
};

// What fits the place that is printed to. `environment(name)` gives a variable or null, as std::getenv does: NO_COLOR
// (set and not empty) and TERM=dumb forbid colour, as does a place that is no terminal; a locale (LC_ALL, LC_CTYPE,
// LANG: the first that is set) that does not name UTF-8 asks for ASCII. `columns` 0 is unknown.
[[nodiscard]] WaterfallStyle waterfall_style(bool is_terminal, std::size_t columns,
                                             const char* (*environment)(const char*));

// Lines, each ended by a newline. Text of the record is made fit for a terminal.
[[nodiscard]] std::string waterfall(const domain::RequestRecord& record, const WaterfallStyle& style);

}  // namespace hearth::cli
