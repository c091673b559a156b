#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/table.h"

namespace hearth::cli {
namespace {

using domain::Json;

std::string or_dash(const std::vector<std::string>& words, std::string_view separator) {
  return words.empty() ? "-" : base::join(words, separator);
}

std::string tier_text(const domain::TierSupport& tier) {
  if (tier.available) return "yes";
  return fmt::format("{} of {} points", tier.present.size(), tier.present.size() + tier.missing.size());
}

// The reasons are sentences, too long for a table's cell; the rest of them is in --json.
std::string tier_reason(const domain::EngineInfo& engine) {
  if (engine.tier.missing.empty()) return {};
  const std::size_t more = engine.tier.missing.size() - 1;
  return fmt::format("{}: the tier library lacks {}{}\n", engine.id, engine.tier.missing.front(),
                     more == 0 ? std::string() : fmt::format(" (and {} more; --json tells)", more));
}

std::string engines_text(const std::vector<domain::EngineInfo>& engines) {
  Table table({"ID", "VERSION", "BUILD", "ORIGIN", "BACKENDS", "TIER", "COMMAND"});
  for (const auto& engine : engines) {
    table.add({engine.id, engine.version, engine.build.value_or("-"), engine.origin, or_dash(engine.backends, " "),
               tier_text(engine.tier), or_dash(engine.command, " ")});
  }
  std::string text = table.text();
  for (const auto& engine : engines)
    text += tier_reason(engine);
  return text;
}

std::string doctor_text(const domain::MachineView& machine) {
  Table table({"NAME", "STATE", "WHY"});
  for (const auto& capability : machine.capabilities) {
    table.add({capability.name, std::string(name_of(capability.state)), capability.why});
    if (capability.fix && capability.state != domain::CapabilityState::works)
      table.add({"", "", "fix: " + *capability.fix});
  }
  return table.text();
}

// Without an engine Hearth answers nothing; without the rest it answers slower, or explains less.
bool lacks_what_is_required(const domain::MachineView& machine) {
  return std::ranges::any_of(machine.capabilities, [](const auto& capability) {
    return capability.name == "engine" && capability.state == domain::CapabilityState::absent;
  });
}

}  // namespace

Outcome list_engines(const Invocation& invocation, Console& console, const LocalCommands& local) {
  if (!local.engine_list) return base::fail(base::ErrorCode::unsupported, "this program was built without engines");
  auto engines = local.engine_list(invocation.engine);
  if (!engines) return base::pass(engines);
  if (invocation.json) {
    Json list = Json::array();
    for (const auto& engine : *engines)
      list.push_back(domain::to_json(engine));
    print_json(console, {{"engines", list}});
  } else if (engines->empty()) {
    console.out << "no engine is found; get one with `hearth engine install`\n";
  } else {
    console.out << engines_text(*engines);
  }
  return 0;
}

Outcome install_engine(const Invocation& invocation, Console& console, const LocalCommands& local) {
  if (!local.engine_install) return base::fail(base::ErrorCode::unsupported, "this program was built without engines");
  ProgressLine progress(console);
  auto engine = local.engine_install(invocation.engine, [&progress](const ProgressStep& step) { progress.show(step); });
  progress.finish();
  if (!engine) return base::pass(engine);
  if (invocation.json) {
    print_json(console, domain::to_json(*engine));
  } else {
    console.out << fmt::format("{} is ready ({})\n", base::printable(engine->id, 80),
                               base::printable(engine->origin, 40));
  }
  return 0;
}

Outcome examine_machine(const Invocation& invocation, Console& console, const LocalCommands& local) {
  if (!local.doctor)
    return base::fail(base::ErrorCode::unsupported, "this program was built without the machine's probe");
  auto machine = local.doctor(invocation.engine);
  if (!machine) return base::pass(machine);
  if (invocation.json) {
    print_json(console, domain::to_json(*machine));
  } else {
    console.out << doctor_text(*machine);
  }
  return lacks_what_is_required(*machine) ? 1 : 0;
}

}  // namespace hearth::cli
