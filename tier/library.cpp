#include "library.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "arena.h"
#include "channel.h"
#include "engine_maps.h"
#include "jumps.h"
#include "model_files.h"
#include "os.h"
#include "reads.h"
#include "real.h"
#include "residency.h"
#include "settings.h"
#include "store.h"

#ifndef HEARTH_TIER_BUILD
#define HEARTH_TIER_BUILD "unversioned"
#endif

namespace hearth::tier {
namespace detail {
constinit std::atomic<Life> the_life{Life::kEarly};
}

namespace {

constinit Store the_store;
constinit int the_bell = -1;  // eventfd; constant once live

void set_life(Life life) { detail::the_life.store(life, std::memory_order_release); }

// --- the library's thread --------------------------------------------------------------------------------------------

bool cancelled() { return channel().cancelled(); }

void serve(const Command& command) {
  if (command.op == Op::kCancel) return;  // nothing is running
  Reply reply{};
  carry_out(command, reply);
  channel().send(reply, RecordType::kReply);
}

/// Writing weights out takes a processor for some tenths of a second, which the engine has a better use for while it
/// comes up: it waits until loading has been over for this long, or a command needs it.
constexpr std::uint64_t kRestNs = 400'000'000;

void write_out() {
  arena().write_out();
  PageVector<MappedTensor> tensors;
  model_files().all_tensors(tensors);
  for (const MappedTensor& tensor : tensors) {
    if (!tensor.by_rows) reads().learn(reinterpret_cast<const void*>(tensor.at), tensor.bytes);
  }
  tensors.reset();
  reads().keep();
}

/// How long poll() may wait for a moment of now_ns(); 0: for as long as it takes.
int wait_ms(std::uint64_t until) {
  if (until == 0) return -1;
  const std::uint64_t now = os::now_ns();
  return until <= now ? 0 : static_cast<int>((until - now) / 1'000'000) + 1;
}

// After the daemon has gone the thread stays for publishing only. Who only looks needs nothing written, and however
// often somebody looks it is written when its time has come.
void* worker(void*) {
  std::uint64_t write_at = 0;  // 0: nothing is to be written
  while (life() == Life::kLive) {
    pollfd sources[] = {{the_bell, POLLIN, 0}, {channel().descriptor(), POLLIN, 0}};
    const int ready = ::poll(sources, 2, wait_ms(write_at));
    if (ready < 0 && errno != EINTR) return nullptr;
    if (ready < 0) continue;
    std::uint64_t rings = 0;
    if ((sources[0].revents & POLLIN) != 0 && ::read(the_bell, &rings, sizeof rings) > 0) {
      if (arena().settle(rings >= static_cast<std::uint64_t>(Settle::kComputed))) model_files().let_go_of_packed();
      write_at = os::now_ns() + kRestNs;
      continue;
    }
    Command command{};
    const bool asked = sources[1].revents != 0 && channel().receive(command);
    const bool looks = asked && command.op == Op::kStatus;
    if (write_at != 0 && !looks && (asked || write_at <= os::now_ns())) {
      write_out();
      write_at = 0;
    }
    if (asked) serve(command);
  }
  return nullptr;
}

Reason start_worker(unsigned readers) {
  if (!os::pages_fit(os::page_bytes())) return Reason::kPageSize;
  configure(cancelled, readers);
  the_bell = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  pthread_t thread{};
  if (the_bell < 0 || os::start_thread(&thread, worker, nullptr) != 0) return Reason::kNoThread;
  ::pthread_detach(thread);
  return Reason::kNone;
}

// --- what can be done here -------------------------------------------------------------------------------------------

bool all_found(std::initializer_list<Symbol> symbols) {
  for (const Symbol symbol : symbols) {
    if (!found(symbol)) return false;
  }
  return true;
}

bool can_place() {
  return all_found({Symbol::ggml_aligned_malloc, Symbol::ggml_aligned_free, Symbol::ggml_backend_buffer_set_usage,
                    Symbol::ggml_backend_buffer_get_base, Symbol::ggml_backend_buffer_get_size});
}

bool can_skip() {
  return all_found({Symbol::ggml_backend_tensor_set, Symbol::ggml_backend_tensor_alloc, Symbol::ggml_get_name,
                    Symbol::ggml_get_data, Symbol::ggml_nbytes, Symbol::ggml_backend_buffer_clear,
                    Symbol::ggml_backend_buffer_get_type, Symbol::ggml_backend_buft_name}) &&
         (found(Symbol::ggml_backend_sched_graph_compute_async) || found(Symbol::ggml_backend_graph_compute));
}

Reason probe_reason() {
  return found(Symbol::llama_process) || found(Symbol::ggml_backend_sched_graph_compute) ? Reason::kNone
                                                                                         : Reason::kNoSymbol;
}

Reason open_arena(const Settings& settings) {
  if (!settings.arena) return Reason::kDisabled;
  if (!can_place()) return Reason::kNoSymbol;
  return the_store.open(settings);
}

void set_reason(Hello& hello, Power power, Reason reason) {
  const auto index = static_cast<unsigned>(power);
  hello.reason[index] = reason;
  if (reason == Reason::kNone) hello.powers |= 1U << index;
}

void say_hello(Hello& hello) {
  hello.at_ns = os::now_ns();
  hello.symbols = found_symbols();
  hello.memlock_limit = os::memlock_limit();
  hello.pid = static_cast<std::uint32_t>(::getpid());
  copy_text(hello.build, sizeof hello.build, HEARTH_TIER_BUILD);
  channel().send(hello, RecordType::kHello);
}

void stand_aside(Reason reason) {
  Hello hello{};
  for (unsigned i = 0; i < kPowerCount; ++i)
    set_reason(hello, static_cast<Power>(i), reason);
  say_hello(hello);
  channel().close();
}

// Reuse needs to see every write, which needs more functions than the arena alone.
void go_live(const Settings& settings) {
  Hello hello{};
  const Reason thread = start_worker(settings.readers);
  const Reason arena_reason = thread != Reason::kNone ? thread : open_arena(settings);
  const Reason packed = arena_reason == Reason::kNone && !can_skip() ? Reason::kNoSymbol : arena_reason;
  if (arena_reason == Reason::kNone) arena().enable(the_store, packed == Reason::kNone && settings.publish);
  set_reason(hello, Power::kProbe, probe_reason());
  set_reason(hello, Power::kArena, arena_reason);
  set_reason(hello, Power::kPacked, packed);
  for (const Power power : {Power::kHibernate, Power::kWake, Power::kPin})
    set_reason(hello, power, thread);
  if (packed == Reason::kNone) {
    const bool known = settings.model[0] != '\0' && reads().open(settings.model, the_store.folder());
    if (known) reads().begin();  // first: the engine reads the head of its model first
    the_store.begin_checks();
    if (known && the_store.expects_packed()) engine_maps().spare();
  }
  say_hello(hello);
}

void in_forked_child() { set_life(Life::kAside); }

__attribute__((constructor)) void arrive() {
  const os::ErrnoGuard guard;
  set_life(Life::kAside);
  find_real_functions();
  // No engine here: a shell that will exec the engine, say. It must hand settings and socket on untouched.
  if (found_symbols() == 0) return;
  const Settings settings = parse_settings(environ);
  scrub_settings(environ);
  if (settings.socket < 0 || !channel().open(settings.socket, settings.verbose)) return;
  if (settings.protocol != kProtocolVersion) return stand_aside(Reason::kProtocolMismatch);
  if (::pthread_atfork(nullptr, nullptr, in_forked_child) != 0) return stand_aside(Reason::kKernel);
  set_life(Life::kLive);  // before the thread starts: it lives as long as the state says so
  go_live(settings);
}

__attribute__((destructor)) void leave() { set_life(Life::kAside); }

}  // namespace

void request_settle(Settle why) {
  const os::ErrnoGuard guard;
  const auto rings = static_cast<std::uint64_t>(why);
  if (::write(the_bell, &rings, sizeof rings) < 0) return;  // the counter is full: the thread will look anyway
}

}  // namespace hearth::tier
