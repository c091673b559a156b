#include "lab/synthetic.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "domain/named.h"
#include "lab/random.h"

namespace hearth::lab {
namespace {

using domain::ServiceClass;

constexpr double kHour = 3600;
constexpr double kDay = 24 * kHour;

// Expected sessions in each hour of a day.
using DayShape = std::array<double, 24>;

constexpr DayShape kVoiceWeekday = {0,  0,  0,  0,  0,  .1,  1.5, 2.5, .8,  .2, .1, .1,
                                    .3, .2, .1, .2, .5, 1.5, 2,   2,   1.5, 1,  .4, .1};
constexpr DayShape kVoiceWeekend = {.1, 0,  0,  0,  0,  0,   .1,  .4, 1.5, 2, 1.5, 1,
                                    1,  .8, .6, .6, .8, 1.2, 1.8, 2,  1.5, 1, .6,  .2};
constexpr DayShape kEvening = {.05, 0,   0,   0,  0,  0,  0,  .1, .1, .05, .05, .05,
                               .1,  .05, .05, .1, .2, .4, .6, .8, .9, .7,  .4,  .15};
constexpr DayShape kOffice = {0, 0, 0, 0, 0, 0, 0, .1, .6, .9, .9, .8, .3, .7, .9, .8, .6, .3, .1, .1, .1, .05, 0, 0};
constexpr DayShape kFree = {.02, 0,  0,   0,   0,  0,  0,   .02, .05, .1,  .15, .15,
                            .1,  .1, .15, .15, .1, .1, .15, .2,  .2,  .15, .1,  .05};
constexpr DayShape kNever = {};

struct Tokens {
  double prompt = 40;
  double generated = 60;
};

class Maker {
 public:
  Maker(std::string name, const SyntheticOptions& options) : options_(options), random_(options.seed) {
    trace_.name = std::move(name);
  }

  std::uint32_t model(std::string_view name, ServiceClass service_class, double weights_gb) {
    const ModelSize size{weights_gb, 0.05 + 0.06 * weights_gb, 0.1};
    trace_.models.push_back({domain::ModelId::parse(name).value(), service_class, size});
    return static_cast<std::uint32_t>(trace_.models.size() - 1);
  }

  void ask(std::uint32_t model, double at_s, const Tokens& tokens) {
    if (at_s < 0 || at_s >= options_.days * kDay) return;
    trace_.requests.push_back({static_cast<std::int64_t>(at_s * 1e9), model,
                               static_cast<std::uint32_t>(random_.lognormal(tokens.prompt, 0.5)) + 1,
                               static_cast<std::uint32_t>(random_.lognormal(tokens.generated, 0.6)) + 1, 0});
  }

  // Sessions of `length` requests, `pause` seconds apart, as often as the day's shape says. `also`: a model that hears
  // each request first (speech to text).
  struct Session {
    double length = 1;
    double pause = 30;
    Tokens tokens;
    std::optional<std::uint32_t> also = std::nullopt;
  };
  void sessions(std::uint32_t model, const DayShape& weekday, const DayShape& weekend, const Session& session,
                double scale = 1) {
    for (double hour = 0; hour < options_.days * 24; ++hour) {
      const auto day = static_cast<int>(hour / 24) % 7;
      const auto& shape = day < 5 ? weekday : weekend;
      const double mean = shape[static_cast<std::size_t>(std::fmod(hour, 24))] * scale * options_.intensity;
      for (double at = mean > 0 ? random_.exponential(1 / mean) : 1; at < 1; at += random_.exponential(1 / mean))
        one_session(model, (hour + at) * kHour, session);
    }
  }

  // Every `period` seconds, give or take; `count` requests back to back.
  void every(std::uint32_t model, double period, double first, double jitter, double count, const Tokens& tokens) {
    for (double at = first; at < options_.days * kDay; at += period) {
      double when = at + jitter * random_.normal();
      const auto many = static_cast<std::uint64_t>(std::max(1.0, count * options_.intensity));
      for (std::uint64_t i = 0; i < many; ++i) {
        ask(model, when, tokens);
        when += random_.exponential(4);
      }
    }
  }

  // Hawkes process with exponential kernel: `base` requests an hour by themselves, each bringing `children` more on
  // average within about `span` seconds.
  void self_exciting(std::uint32_t model, double base, double children, double span, const Tokens& tokens) {
    const double mean = kHour / (base * options_.intensity);
    for (double at = random_.exponential(mean); at < options_.days * kDay; at += random_.exponential(mean)) {
      // Fewer at night.
      const double hour = std::fmod(at / kHour, 24);
      if (random_.uniform() > 0.55 + 0.45 * std::cos((hour - 17) / 24 * 2 * std::numbers::pi)) continue;
      family(model, at, children, span, tokens, 0);
    }
  }

  Trace finish() {
    sort_by_time(trace_);
    return std::move(trace_);
  }

  Random& random() { return random_; }

 private:
  void one_session(std::uint32_t model, double at, const Session& session) {
    const auto many = random_.geometric(session.length);
    for (std::uint64_t i = 0; i < many; ++i) {
      if (session.also) {
        ask(*session.also, at, {30, 12});
        at += 1.2;
      }
      ask(model, at, session.tokens);
      at += 2 + random_.exponential(session.pause);
    }
  }

  void family(std::uint32_t model, double at, double children, double span, const Tokens& tokens, int generation) {
    ask(model, at, tokens);
    if (generation > 20) return;
    // Poisson by its exponential gaps.
    for (double sum = random_.exponential(1); sum < children; sum += random_.exponential(1))
      family(model, at + random_.exponential(span), children, span, tokens, generation + 1);
  }

  SyntheticOptions options_;
  Random random_;
  Trace trace_;
};

Trace household(const SyntheticOptions& options) {
  Maker make("household", options);
  const auto ears = make.model("ears", ServiceClass::voice, 0.5);
  const auto assistant = make.model("assistant", ServiceClass::voice, 0.8);
  const auto chat = make.model("chat", ServiceClass::interactive, 2.5);
  const auto coder = make.model("coder", ServiceClass::interactive, 4.7);
  const auto homework = make.model("homework", ServiceClass::interactive, 2.0);
  const auto vision = make.model("vision", ServiceClass::interactive, 3.0);
  const auto large = make.model("large", ServiceClass::interactive, 5.5);
  const auto embed = make.model("embed", ServiceClass::background, 0.3);
  const auto summary = make.model("summary", ServiceClass::background, 2.4);
  const auto camera = make.model("camera", ServiceClass::background, 1.8);
  make.sessions(assistant, kVoiceWeekday, kVoiceWeekend, {2, 15, {30, 25}, ears});
  make.sessions(chat, kEvening, kEvening, {6, 60, {80, 150}, {}});
  make.sessions(coder, kOffice, kFree, {8, 90, {200, 200}, {}}, 0.6);
  make.sessions(homework, kFree, kFree, {5, 80, {80, 150}, {}});
  make.sessions(vision, kFree, kEvening, {2, 40, {300, 80}, {}}, 0.7);
  make.sessions(large, kEvening, kEvening, {3, 120, {150, 200}, {}}, 0.12);
  make.every(embed, 2 * kHour, 600, 120, 6, {200, 1});
  make.every(embed, kDay, 2.2 * kHour, 300, 120, {300, 1});
  make.every(summary, kDay, 2.5 * kHour, 300, 60, {400, 150});
  make.every(summary, kDay, 6.2 * kHour, 120, 5, {400, 150});
  make.sessions(camera, kFree, kFree, {2, 10, {250, 30}, {}}, 3);
  return make.finish();
}

// What is said to an assistant is short.
Tokens tokens_of(ServiceClass service_class) {
  return service_class == ServiceClass::voice ? Tokens{30, 25} : Tokens{100, 120};
}

Trace popular(const SyntheticOptions& options) {
  Maker make("popular", options);
  constexpr std::array<double, 12> kSizes = {0.8, 2.5, 1.2, 4.7, 0.6, 2.0, 3.0, 1.8, 4.0, 0.9, 2.4, 1.5};
  for (std::size_t rank = 0; rank < kSizes.size(); ++rank) {
    const auto service_class = rank == 4       ? ServiceClass::voice
                               : rank % 5 == 3 ? ServiceClass::background
                                               : ServiceClass::interactive;
    const auto model = make.model("m" + std::to_string(rank + 1), service_class, kSizes[rank]);
    const double share = 1.6 / std::pow(static_cast<double>(rank + 1), 0.9);
    make.sessions(model, rank % 2 == 0 ? kOffice : kEvening, rank % 3 == 0 ? kFree : kEvening,
                  {4, 45, tokens_of(service_class), {}}, share);
  }
  return make.finish();
}

Trace timers(const SyntheticOptions& options) {
  Maker make("timers", options);
  struct Timer {
    double period, first, jitter, count, weights_gb;
  };
  constexpr std::array<Timer, 8> kTimers = {{{900, 60, 5, 1, 0.8},
                                             {1800, 200, 20, 2, 1.5},
                                             {kHour, 300, 30, 2, 2.5},
                                             {kHour, 2100, 60, 3, 0.6},
                                             {3 * kHour, 1500, 90, 4, 3.0},
                                             {6 * kHour, 4000, 120, 6, 2.0},
                                             {kDay, 3 * kHour, 200, 30, 4.7},
                                             {kDay, 19 * kHour, 200, 10, 2.2}}};
  for (std::size_t i = 0; i < kTimers.size(); ++i) {
    const auto& timer = kTimers[i];
    const auto service_class = i % 2 == 0 ? ServiceClass::background : ServiceClass::interactive;
    const auto model = make.model("timer" + std::to_string(i + 1), service_class, timer.weights_gb);
    make.every(model, timer.period, timer.first, timer.jitter, timer.count, {100, 60});
  }
  const auto voice = make.model("assistant", ServiceClass::voice, 0.8);
  make.sessions(voice, kVoiceWeekday, kVoiceWeekend, {2, 15, {30, 25}, {}});
  const auto chat = make.model("chat", ServiceClass::interactive, 2.5);
  make.sessions(chat, kEvening, kEvening, {6, 60, {80, 150}, {}});
  make.sessions(make.model("rare", ServiceClass::interactive, 5.0), kNever, kFree, {3, 60, {80, 150}, {}}, 0.5);
  return make.finish();
}

Trace bursty(const SyntheticOptions& options) {
  Maker make("bursty", options);
  struct Source {
    double weights_gb, base, children, span;
    ServiceClass service_class;
  };
  constexpr std::array<Source, 10> kSources = {{{0.8, 1.2, 0.6, 60, ServiceClass::voice},
                                                {2.5, 0.8, 0.8, 120, ServiceClass::interactive},
                                                {4.7, 0.35, 0.85, 150, ServiceClass::interactive},
                                                {1.5, 0.6, 0.7, 90, ServiceClass::interactive},
                                                {3.0, 0.25, 0.8, 200, ServiceClass::interactive},
                                                {0.6, 0.9, 0.5, 30, ServiceClass::background},
                                                {2.0, 0.3, 0.75, 100, ServiceClass::background},
                                                {1.2, 0.15, 0.8, 300, ServiceClass::interactive},
                                                {4.0, 0.08, 0.8, 200, ServiceClass::interactive},
                                                {2.2, 0.1, 0.7, 200, ServiceClass::background}}};
  for (std::size_t i = 0; i < kSources.size(); ++i) {
    const auto& source = kSources[i];
    const auto model = make.model("b" + std::to_string(i + 1), source.service_class, source.weights_gb);
    make.self_exciting(model, source.base, source.children, source.span, tokens_of(source.service_class));
  }
  return make.finish();
}

}  // namespace

std::string_view name_of(Shape shape) {
  switch (shape) {
    case Shape::household:
      return "household";
    case Shape::popular:
      return "popular";
    case Shape::timers:
      return "timers";
    case Shape::bursty:
      return "bursty";
  }
  return "household";
}

std::optional<Shape> shape_named(std::string_view name) { return domain::find_named(kAllShapes, name); }

Trace make_synthetic(const SyntheticOptions& options) {
  switch (options.shape) {
    case Shape::household:
      return household(options);
    case Shape::popular:
      return popular(options);
    case Shape::timers:
      return timers(options);
    case Shape::bursty:
      return bursty(options);
  }
  return household(options);
}

}  // namespace hearth::lab
