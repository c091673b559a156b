#include "cli/table.h"

#include <algorithm>

#include "base/text.h"

namespace hearth::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kWidestCell = 1000;

// Code points; what is printed here hardly holds anything wider or narrower.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::vector<std::size_t> widths_of(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]));
  }
  return widths;
}

}  // namespace

Table::Table(std::vector<std::string> headers) {
  for (auto& header : headers) {
    right_.push_back(header.starts_with('>'));
    if (right_.back()) header.erase(0, 1);
  }
  rows_.push_back(std::move(headers));
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(right_.size());
  for (auto& cell : cells)
    cell = base::printable(cell, kWidestCell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  const auto widths = widths_of(rows_);
  std::string all;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      if (i > 0) line += kGap;
      line += right_[i] ? padding + row[i] : row[i] + padding;
    }
    all += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return all;
}

std::size_t Table::width() const {
  std::size_t widest = 0;
  const std::string all = text();
  for (const auto line : base::split(all, '\n'))
    widest = std::max(widest, width_of(line));
  return widest;
}

}  // namespace hearth::cli
