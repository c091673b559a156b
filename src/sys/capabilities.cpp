#include "sys/capabilities.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/fd.h"
#include "base/scope_exit.h"
#include "sys/files.h"
#include "sys/memory.h"
#include "sys/pages.h"
#include "sys/proc_stats.h"
#include "sys/processes.h"

namespace hearth::sys {
namespace {

Capability works(std::string name, std::string why) {
  return {std::move(name), CapabilityState::works, std::move(why), std::nullopt};
}
Capability degraded(std::string name, std::string why, std::optional<std::string> fix = {}) {
  return {std::move(name), CapabilityState::degraded, std::move(why), std::move(fix)};
}
Capability absent(std::string name, std::string why, std::optional<std::string> fix = {}) {
  return {std::move(name), CapabilityState::absent, std::move(why), std::move(fix)};
}

// Counts the pages of a small file that was just written, so they are there.
base::Result<Residency> residency_of_fresh_file(const std::string& scratch, PageMechanism mechanism) {
  std::string path = scratch + "/hearth-probe-XXXXXX";
  const base::Fd fd(::mkstemp(path.data()));
  if (!fd) return base::fail_errno("making a file in " + scratch, errno);
  const base::ScopeExit remove([&] { ::unlink(path.c_str()); });
  const std::string contents(65536, 'x');
  if (::write(fd.get(), contents.data(), contents.size()) != static_cast<ssize_t>(contents.size())) {
    return base::fail_errno("writing " + path, errno);
  }
  return LinuxPages(mechanism).residency(path);
}

Capability probe_cachestat(const ProbeRoots& roots) {
  const auto found = residency_of_fresh_file(roots.scratch, PageMechanism::cachestat);
  if (!found) return absent("cachestat", found.error().message);
  if (found->by != PageMechanism::cachestat) {
    return degraded("cachestat", "cachestat(2) does not answer; pages are counted with mincore(2), which is slower",
                    "run Linux 6.5 or later");
  }
  if (found->resident != found->total)
    return degraded("cachestat", "cachestat(2) answers, but not with what is cached");
  return works("cachestat", "cachestat(2) counts cached pages");
}

Capability probe_mincore(const ProbeRoots& roots) {
  const auto found = residency_of_fresh_file(roots.scratch, PageMechanism::mincore);
  if (!found) return absent("mincore", found.error().message);
  if (found->resident != found->total) return degraded("mincore", "mincore(2) answers, but not with what is cached");
  return works("mincore", "mincore(2) counts cached pages of files we own");
}

Capability probe_pidfd() {
  LinuxProcesses processes;
  const auto self = processes.open(::getpid());
  if (!self) {
    return absent("pidfd", self.error().message, "allow pidfd_open in the sandbox, or run Linux 5.4 or later");
  }
  if (const auto sent = processes.signal(*self, 0); !sent) {
    return degraded("pidfd", sent.error().message, "allow pidfd_send_signal in the sandbox");
  }
  return works("pidfd", "processes are known by descriptor, not by number");
}

Capability probe_pressure(const ProbeRoots& roots) {
  if (const auto value = LinuxMemory(roots.proc, roots.sys).pressure().memory_some_avg10) {
    return works("psi_memory", "the kernel measures memory pressure");
  }
  return absent("psi_memory", roots.proc + "/pressure/memory says nothing", "boot the kernel with psi=1");
}

Capability probe_lock_limit(const ProbeRoots& roots) {
  const auto limit = LinuxMemory(roots.proc, roots.sys).lock_limit();
  if (!limit) return absent("memlock", "the limit of locked memory is not known");
  if (!limit->soft || ::geteuid() == 0) return works("memlock", "memory may be locked without limit");
  const auto why = "at most " + base::format_bytes(*limit->soft) + " may be locked";
  constexpr base::Bytes kUseful = 1'000'000'000;
  if (*limit->soft >= kUseful) return works("memlock", why);
  return degraded("memlock", why + ", so models cannot be pinned",
                  "set LimitMEMLOCK=infinity in the service, or raise memlock in /etc/security/limits.conf");
}

Capability probe_io_accounting(const ProbeRoots& roots) {
  if (LinuxProcStats(roots.proc).read(::getpid()).read_from_storage) {
    return works("io_accounting", "bytes read from storage are counted for each process");
  }
  return absent("io_accounting", roots.proc + "/PID/io says nothing, so storage time cannot be told from loading time",
                "run a kernel with CONFIG_TASK_IO_ACCOUNTING");
}

Capability probe_thread_times(const ProbeRoots& roots) {
  if (LinuxProcStats(roots.proc).read(::getpid()).main_thread) {
    return works("thread_times", "the kernel tells running from waiting, so waiting for storage can be measured");
  }
  return absent("thread_times", roots.proc + "/PID/schedstat says nothing, so waiting for storage is not measured",
                "run a kernel with CONFIG_SCHED_INFO");
}

Capability probe_cgroup(const ProbeRoots& roots) {
  const LinuxFiles files;
  const auto limit = LinuxMemory(roots.proc, roots.sys).memory().group_limit;
  const std::string limited = limit ? "; it leaves " + base::format_bytes(*limit) + " of memory" : "";
  if (files.read(roots.sys + "/fs/cgroup/cgroup.controllers", 4096))
    return works("cgroup", "cgroup v2 is mounted" + limited);
  if (const auto names = files.list(roots.sys + "/fs/cgroup"); names && !names->empty()) {
    return degraded("cgroup", "only cgroup v1 is mounted; per-group pressure is not measured" + limited,
                    "boot with systemd.unified_cgroup_hierarchy=1");
  }
  return absent("cgroup", "no cgroup hierarchy is mounted at " + roots.sys + "/fs/cgroup");
}

Capability probe_cpufreq(const ProbeRoots& roots) {
  const LinuxFiles files;
  if (files.read(roots.sys + "/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", 64)) {
    return works("cpufreq", "the processors' clocks are readable");
  }
  if (LinuxMemory(roots.proc, roots.sys).processor_mhz()) {
    return degraded("cpufreq", "no cpufreq here (usual in a virtual machine); the clock is taken from cpuinfo");
  }
  return absent("cpufreq", "the processors' clocks are not told");
}

Capability probe_swap(const ProbeRoots& roots) {
  const auto total = LinuxMemory(roots.proc, roots.sys).memory().swap_total;
  if (!total) return absent("swap", roots.proc + "/meminfo says nothing about swap");
  if (*total == 0) return absent("swap", "there is no swap; anonymous memory can never be given back");
  return works("swap", base::format_bytes(*total) + " of swap");
}

Capability probe_niceness() {
  if (LinuxProcesses().may_lower_niceness())
    return works("niceness", "an engine of a lower class gives way on the processors while a higher one computes");
  return degraded("niceness",
                  "a nice value cannot be lowered again, so only engines of models of class background give way on the "
                  "processors, and always",
                  "set LimitNICE=+0 in the service, or nice to 0 in /etc/security/limits.conf");
}

}  // namespace

std::vector<Capability> probe_capabilities(const ProbeRoots& roots) {
  return {probe_cachestat(roots),    probe_mincore(roots),    probe_pidfd(),
          probe_pressure(roots),     probe_lock_limit(roots), probe_io_accounting(roots),
          probe_thread_times(roots), probe_cgroup(roots),     probe_cpufreq(roots),
          probe_swap(roots),         probe_niceness()};
}

}  // namespace hearth::sys
