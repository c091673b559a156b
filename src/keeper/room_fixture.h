#pragma once
// A room with engines that do what a test says, requests that end when it says, and the rules that hold at every
// moment. Tests only.
#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/post.hpp>

#include "base/scope_exit.h"
#include "keeper/room.h"
#include "sys/fake_machine.h"
#include "tests/support/manual_clock.h"

namespace hearth::keeper {

// What one model's engine does, and what it was seen to do.
struct EngineScript {
  bool ready = true;  // else it goes on starting
  bool dies_starting = false;
  bool hibernates = true;  // has the power
  std::optional<base::Error> hibernate_fails;
  int starts = 0;
  int stops = 0;
  int sleeps = 0;
  std::optional<Pages> pages;  // of the last one
  int wakes = 0;
  int alive = 0;                // processes
  std::function<void()> crash;  // ends the process that runs
  std::function<void()> on_stop = [] {};
};

class ScriptedProcess final : public engine::EngineProcess {
 public:
  ScriptedProcess(const rt::asio::any_io_executor& executor, EngineScript& script, int pid)
      : script_(script), pid_(pid), changed_(executor) {
    ++script_.alive;
    script_.crash = [this] { end(); };
  }
  ~ScriptedProcess() override {
    script_.crash = [] {};
  }
  rt::Task<void> run() override {
    while (!ended_)
      (void)co_await changed_.wait_until(base::Mono::max());
    --script_.alive;
  }
  rt::Task<engine::Health> health() override {
    if (script_.dies_starting) end();
    co_return script_.ready && !ended_ ? engine::Health::ready : engine::Health::loading;
  }
  [[nodiscard]] sys::ProcReading reading() const override { return {}; }
  [[nodiscard]] std::uint64_t output_bytes() const override { return ++said_; }  // it moves: no stall
  [[nodiscard]] std::vector<std::string> last_lines() const override { return {}; }
  [[nodiscard]] std::string how_it_ended() const override { return "was killed by signal 9"; }
  rt::Task<bool> stop() override {
    ++script_.stops;
    script_.on_stop();
    end();
    co_return true;
  }
  [[nodiscard]] int pid() const override { return pid_; }
  [[nodiscard]] const std::string& socket_path() const override { return socket_; }

 private:
  void end() {
    ended_ = true;
    changed_.notify_all();
  }
  EngineScript& script_;
  int pid_;
  rt::Notice changed_;
  bool ended_ = false;
  mutable std::uint64_t said_ = 0;
  std::string socket_ = "/run/e.sock";
};

class ScriptedStarter final : public engine::Starter {
 public:
  ScriptedStarter(rt::asio::any_io_executor executor, EngineScript& script, int& pids)
      : executor_(std::move(executor)), script_(script), pids_(pids) {}
  base::Result<std::unique_ptr<engine::EngineProcess>> start() override {
    ++script_.starts;
    return std::make_unique<ScriptedProcess>(executor_, script_, ++pids_);
  }

 private:
  rt::asio::any_io_executor executor_;
  EngineScript& script_;
  int& pids_;
};

// Lets the loop turn instead of waiting.
class LoopPace final : public engine::Pace {
 public:
  rt::Task<void> pause(base::Duration) override {
    co_await rt::asio::post(co_await rt::asio::this_coro::executor, rt::asio::use_awaitable);
  }
};

// One request, from asking to its end.
struct Visit {
  explicit Visit(const rt::asio::any_io_executor& executor) : changed(executor) {}
  std::optional<base::Error> error;
  bool served = false;  // it has an engine
  bool ended = false;
  bool over = false;  // told to end
  rt::Notice changed;
  rt::asio::cancellation_signal leave;

  void end() {
    over = true;
    changed.notify_all();
  }
};

class RoomFixture : public testing::Test {
 protected:
  static constexpr base::Bytes kGB = 1'000'000'000;

  void TearDown() override {
    for (auto& [id, script] : scripts)
      script.on_stop = [] {};
    for (const auto& visit : visits)
      visit->end();
    settle();
    bool done = false;
    rt::asio::co_spawn(io, close(), [&done](std::exception_ptr) { done = true; });
    while (!done)
      io.run_one();
  }

  // Rules before the first model: the room is made with them.
  void make_room(base::Bytes budget) {
    config.budget = budget;
    room.emplace(Room::Parts{
        .executor = io.get_executor(),
        .clock = clock,
        .memory = memory,
        .stats = stats,
        .residents = residents,
        .demands = demands,
        .hibernate = [this](std::shared_ptr<Resident> who, Pages pages) { return hibernate(std::move(who), pages); },
        .can_hibernate = [this](const Resident& who) { return script_of(who).hibernates; },
        .pinned = [this](const domain::ModelId& id) { return pinned.contains(id); },
        .class_of = [this](const domain::ModelId& id) { return classes[id]; },
        .smaller = [this](domain::ModelId, std::string) { return smaller(); },
        .on_event =
            [this](domain::Event event) {
              events.push_back(std::move(event));
              check_rules();
            },
        .on_crash = [](std::exception_ptr failure) { std::rethrow_exception(failure); },
        .config = config});
  }
  void add(std::string_view name, base::Bytes weights, base::Bytes kv = 0,
           domain::ServiceClass service_class = domain::ServiceClass::interactive) {
    EngineScript& script = scripts[id(name)];
    engine::Supervisor::Parts parts{io.get_executor(),
                                    std::make_unique<ScriptedStarter>(io.get_executor(), script, pids),
                                    clock,
                                    pace,
                                    {},
                                    [](std::exception_ptr failure) { std::rethrow_exception(failure); }};
    auto resident = std::make_shared<Resident>(
        std::make_unique<engine::Supervisor>(id(name), std::move(parts), engine::SupervisorLimits{}), 4U);
    resident->needs.options.context = 1000;
    resident->needs.prior[policy::Charge::weights] = policy::Footprint::host(weights);
    resident->needs.prior[policy::Charge::kv] = policy::Footprint::host(kv);
    resident->needs.kv_bytes_per_token = static_cast<double>(kv) / 1000;
    resident->supervisor().on_settled([this] { room->look_again(); });
    script.on_stop = [this, who = resident.get(), name = std::string(name)] {
      if (who->supervisor().state() != domain::ModelState::stopping) return;  // a start that took too long is killed
      EXPECT_EQ(who->in_flight(), 0U) << name << " is stopped while it answers";
      EXPECT_FALSE(room->books().promised(id(name))) << name << " is stopped though it was promised";
      EXPECT_FALSE(pinned.contains(id(name))) << name << " is stopped though it is pinned";
    };
    classes[id(name)] = service_class;
    residents[id(name)] = std::move(resident);
  }

  std::shared_ptr<Visit> ask(std::string_view name, std::optional<domain::ServiceClass> asked = {}) {
    const auto visit = std::make_shared<Visit>(io.get_executor());
    rt::asio::co_spawn(
        io, live(id(name), visit, asked),
        rt::asio::bind_cancellation_slot(visit->leave.slot(), [visit](std::exception_ptr) { visit->ended = true; }));
    visits.push_back(visit);
    settle();
    return visit;
  }
  // A whole request, and its end.
  void use(std::string_view name) {
    const auto visit = ask(name);
    EXPECT_TRUE(visit->served) << name << (visit->error ? ": " + visit->error->message : " still waits");
    end(visit);
  }
  void end(const std::shared_ptr<Visit>& visit) {
    visit->end();
    settle();
  }
  void leave(const std::shared_ptr<Visit>& visit) {
    visit->leave.emit(rt::asio::cancellation_type::terminal);
    settle();
  }
  void crash(std::string_view name) {
    scripts[id(name)].crash();
    settle();
  }
  // Of "a" and "b", every five seconds.
  void take_turns(int requests) {
    for (int number = 0; number < requests; ++number) {
      use(number % 2 == 0 ? "a" : "b");
      pass_time(std::chrono::seconds(5));
    }
  }
  void pass_time(base::Duration span) {
    clock.advance(span);
    room->look_again();
    settle();
  }
  // What is ready gets its turn, bounded: an engine that starts goes on for ever.
  void settle() {
    for (int turn = 0; turn < 120; ++turn) {
      if (io.poll_one() == 0) break;
    }
    io.restart();
    if (room) check_rules();
  }
  void check_rules() {
    EXPECT_TRUE(room->books().ledger().charged().fits_in(room->books().ledger().budget()))
        << "more is promised than there is: " << format(room->books().ledger().charged());
    for (const auto& [id, script] : scripts)
      EXPECT_LE(script.alive, 1) << id.text() << " has two processes";
  }

  domain::ModelState state(std::string_view name) { return residents.at(id(name))->state(); }
  EngineScript& script(std::string_view name) { return scripts[id(name)]; }
  base::Bytes reserved(std::string_view name) {
    room->books().reconcile();
    return room->books().holds(id(name)).total();
  }
  [[nodiscard]] std::size_t count(std::string_view what) const {
    return static_cast<std::size_t>(
        std::ranges::count(events, what, [](const domain::Event& event) { return std::string_view(event.what); }));
  }
  static domain::ModelId id(std::string_view name) { return domain::ModelId::parse(name).value(); }

  rt::asio::io_context io;
  test::ManualClock clock;
  sys::FakeMemory memory = [] {
    sys::FakeMemory fake;
    fake.now.total = 64 * kGB;
    fake.now.available = 60 * kGB;
    return fake;
  }();
  sys::FakeProcStats stats;
  LoopPace pace;
  RoomConfig config;
  sys::FakeTimeZone zone;
  Demands demands{{clock, &zone}, policy::DemandConfig{}};
  int pids = 100;
  std::map<domain::ModelId, EngineScript> scripts;
  std::map<domain::ModelId, domain::ServiceClass> classes;
  std::set<domain::ModelId> pinned;
  std::vector<policy::Quantisation> quantisations;
  std::vector<domain::Event> events;
  std::vector<std::shared_ptr<Visit>> visits;
  Residents residents;
  std::optional<Room> room;

 private:
  EngineScript& script_of(const Resident& who) {
    const auto found =
        std::ranges::find_if(residents, [&who](const auto& entry) { return entry.second.get() == &who; });
    return scripts[found->first];
  }
  rt::Task<WorkResult> hibernate(std::shared_ptr<Resident> who, Pages pages) {
    EngineScript& script = script_of(*who);
    co_await rt::asio::post(io, rt::asio::use_awaitable);
    script.pages = pages;
    if (script.hibernate_fails) co_return std::unexpected(*script.hibernate_fails);
    if (who->in_flight() > 0) co_return base::fail(base::ErrorCode::in_use, "a request came first");
    ++script.sleeps;
    who->set_hibernated(true, pages == Pages::keep);
    domain::LayerWork work{.ms = 1, .bytes = 1};
    co_return work;
  }
  rt::Task<std::vector<policy::Quantisation>> smaller() { co_return quantisations; }

  rt::Task<void> live(domain::ModelId which, std::shared_ptr<Visit> visit, std::optional<domain::ServiceClass> asked) {
    const std::shared_ptr<Resident> resident = residents.at(which);
    const auto service_class = room->class_of(which, asked);
    resident->work_began(service_class);
    room->books().use_began(which);
    const base::ScopeExit left([&] {
      resident->work_ended(service_class);
      room->books().use_ended(which);
      room->look_again();
    });
    auto admission = co_await room->admit(which, resident, asked);
    if (!admission) visit->error = admission.error();
    if (!admission) co_return;
    auto ready = co_await resident->supervisor().ensure_ready();
    if (!ready) visit->error = ready.error();
    if (!ready) co_return;
    if (resident->hibernated()) ++scripts[which].wakes;
    resident->set_hibernated(false);
    resident->request_began(clock.wall());
    const base::ScopeExit over([&] { resident->request_ended(); });
    admission->reset();
    visit->served = true;
    while (!visit->over && residents.at(which)->supervisor().state() == domain::ModelState::ready)
      (void)co_await visit->changed.wait_until(base::Mono::max());
  }

  rt::Task<void> close() {
    if (room) co_await room->stop();
    for (auto& [id, resident] : residents)
      (void)co_await resident->supervisor().shut_down();
  }
};

}  // namespace hearth::keeper
