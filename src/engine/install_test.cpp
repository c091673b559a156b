#include "engine/install.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "engine/engine_prefix.h"
#include "tests/support/temp_folder.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string read_all(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A machine made of shell scripts: apt and dpkg that behave as the file `mode` says, in a folder of their own.
class Install : public testing::Test {
 protected:
  Install() {
    fs::create_directories(home_ / "bin");
    write("sources.list", "deb [signed-by=/some/own.gpg] http://mirror.example/debian bookworm main\n");
    write("os-release", "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n");
    script("apt-config",
           "case $1 in shell) echo \"LIST='$T/sources.list'\"; echo \"PARTS='$T/none/'\";;\n"
           "dump) echo 'Acquire::http::Proxy \"http://proxy.example:3128\";'; echo 'DPkg::Post-Invoke:: \"rm -rf "
           "/\";';; esac");
    script("dpkg", "echo amd64");
    script("apt-cache", "cat $T/policy 2>/dev/null");
    script("sudo", "exit 1");
    script("apt-get", kAptGet);
    script("dpkg-deb", kDpkgDeb);
    mode("ok");
    options_.catalogue.search_path = (home_ / "bin").string();
    options_.catalogue.data_dir = home_ / "data";
    options_.catalogue.on_skipped = [this](std::string_view what) { skipped_.emplace_back(what); };
    options_.os_release = home_ / "os-release";
    options_.is_root = false;
    options_.deadline = std::chrono::seconds(20);
  }

  // T is the machine's folder, M the mode.
  void script(const std::string& name, const std::string& body) const {
    write("bin/" + name,
          "#!/bin/sh\nPATH=/usr/bin:/bin\nT=" + home_.string() + "\nM=$(cat $T/mode 2>/dev/null)\n" + body + "\n");
    fs::permissions(home_ / "bin" / name, fs::perms::owner_all);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(home_ / name) << text; }
  void mode(const std::string& mode) const { write("mode", mode); }

  base::Result<domain::EngineInfo> install() {
    return install_engine(options_,
                          [this](std::string_view step, std::optional<double>) { steps_.emplace_back(step); });
  }
  ErrorCode install_error() {
    const auto result = install();
    error_ = result ? "(it worked)" : result.error().message;
    return result ? ErrorCode::internal : result.error().code;
  }

  [[nodiscard]] std::vector<std::string> engines() const {
    std::vector<std::string> names;
    if (!fs::exists(home_ / "data/engines")) return names;
    for (const auto& entry : fs::directory_iterator(home_ / "data/engines")) {
      if (entry.path().filename() != ".lock") names.push_back(entry.path().filename().string());
    }
    return names;
  }
  [[nodiscard]] fs::path installed() const { return home_ / "data/engines" / kInstalled; }
  [[nodiscard]] InstallRecord record() const {
    return record_from_json(read_all(installed() / "install.json")).value();
  }
  [[nodiscard]] std::string apt_calls() const { return read_all(home_ / "calls"); }

  static constexpr const char* kInstalled = "llama-server-11669-0.7.0+dfsg-2";
  static constexpr const char* kAptGet = R"sh(
echo "$@" >> $T/calls
F=$(dirname "$APT_CONFIG")
case "$*" in
*" update")
  case $M in
  unsigned) echo "E: The repository 'http://mirror.example/debian forky InRelease' is not signed."; exit 100;;
  expired*) case "$*" in *Check-Valid-Until=false*) ;; *)
      echo "E: Release file for http://mirror.example/debian/dists/forky/InRelease is expired (invalid since 3d). Updates for this repository will not be applied."
      if [ $M = expired-and-more ]; then echo "E: Failed to fetch http://mirror.example/x  Hash Sum mismatch"; fi
      exit 100;; esac;;
  hang) : > $T/hanging; exec sleep 600;;
  esac
  echo "dlstatus:1:50.0:Retrieving file 1 of 1";;
*--print-uris*)
  if [ $M = unknown ]; then echo "E: Unable to locate package llama.cpp-tools"; exit 100; fi
  echo "Need to get 300 B of archives."
  echo "'http://mirror.example/libggml0_0.27.0-1_amd64.deb' libggml0_0.27.0-1_amd64.deb 100 SHA256:aa11"
  echo "'http://mirror.example/llama.cpp-tools_0.7.0%2bdfsg-2_amd64.deb' llama.cpp-tools_1%3a0.7.0+dfsg-2_amd64.deb 200 SHA256:bb22";;
*" install -y "*" --download-only "*) if [ $M = hang-in-download ]; then exec sleep 600; fi;;
*--download-only*)
  if [ $M = no-download ]; then echo "E: You don't have enough free space in $F/cache/archives/."; exit 100; fi
  cp $F/apt.conf $T/apt.conf; cp $F/sources.list $T/used.list
  : > "$F/cache/archives/libggml0_0.27.0-1_amd64.deb"; : > "$F/cache/archives/llama.cpp-tools_1%3a0.7.0+dfsg-2_amd64.deb";;
*" install -y "*)
  if [ $M = slow-dpkg ]; then sleep 0.3; fi
  printf '#!/bin/sh\necho "version: 0.8.0 (build 12000, commit Debian)"\n' > $T/bin/llama-server; chmod +x $T/bin/llama-server;;
esac)sh";
  static constexpr const char* kDpkgDeb = R"sh(
[ -f "$2" ] || { echo "dpkg-deb: error: no such archive"; exit 2; }
L=$3/usr/lib/x86_64-linux-gnu
mkdir -p $L/ggml/backends0 $L/llama $3/usr/bin
if [ $M = disk-full ]; then echo "dpkg-deb: error: failed to write: No space left on device" >&2; exit 2; fi
case $2 in *libggml0*) : > $L/ggml/backends0/libggml-cpu-x64.so; : > $L/ggml/backends0/libggml-blas.so;;
*) V="version: 0.7.0 (build 11669, commit Debian)"; if [ $M = wrong-program ]; then V="usage: other"; fi
  : > $3/usr/bin/llama-server
  printf '#!/bin/sh\necho "%s"\n' "$V" > $L/ld-linux-x86-64.so.2; chmod +x $L/ld-linux-x86-64.so.2;; esac)sh";

  test::TempFolder own_;
  fs::path home_ = own_.path();
  InstallOptions options_;
  std::vector<std::string> steps_;
  std::vector<std::string> skipped_;
  std::string error_;
};

TEST_F(Install, MakesAPrivatePrefix) {
  const auto engine = install();
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ(engine->id, "llama-server-11669");
  EXPECT_EQ(engine->origin, "installed");
  const std::string libraries = (installed() / "usr/lib/x86_64-linux-gnu").string();
  EXPECT_THAT(engine->command,
              ElementsAre(libraries + "/ld-linux-x86-64.so.2", "--library-path", libraries + ":" + libraries + "/llama",
                          (installed() / "usr/bin/llama-server").string()));
  EXPECT_THAT(engine->backends, ElementsAre("cpu-x64"));
  EXPECT_EQ(fs::read_symlink(libraries + "/libggml-cpu-x64.so"), "ggml/backends0/libggml-cpu-x64.so");
  EXPECT_THAT(engines(), ElementsAre(kInstalled));
}

TEST_F(Install, RecordsWhatCameFromWhere) {
  ASSERT_TRUE(install());
  const InstallRecord made = record();
  EXPECT_EQ(made.package_version, "1:0.7.0+dfsg-2");
  EXPECT_EQ(made.suite, "forky");
  EXPECT_FALSE(made.expiry_waived);
  ASSERT_THAT(made.packages, SizeIs(2));
  EXPECT_EQ(made.packages[1], (PackageRecord{.name = "llama.cpp-tools",
                                             .version = "1:0.7.0+dfsg-2",
                                             .architecture = "amd64",
                                             .bytes = 200,
                                             .sha256 = "bb22"}));
}

TEST_F(Install, TakesTheMirrorAndTheProxyButNoHooks) {
  ASSERT_TRUE(install());
  EXPECT_EQ(read_all(home_ / "used.list"),
            "deb [arch=amd64 signed-by=/some/own.gpg] http://mirror.example/debian forky main\n");
  EXPECT_THAT(read_all(home_ / "apt.conf"), HasSubstr("Acquire::http::Proxy \"http://proxy.example:3128\";"));
  EXPECT_THAT(read_all(home_ / "apt.conf"), Not(HasSubstr("Post-Invoke")));
  EXPECT_THAT(apt_calls(), Not(HasSubstr("Valid-Until")));
}

TEST_F(Install, DoesNothingTwice) {
  ASSERT_TRUE(install());
  const std::string calls = apt_calls();
  const auto again = install();
  ASSERT_TRUE(again);
  EXPECT_EQ(apt_calls(), calls);
  EXPECT_THAT(steps_.back(), HasSubstr("is there already"));
}

TEST_F(Install, WaivesTheDateOfAStaleMirrorAndSaysSo) {
  mode("expired");
  ASSERT_TRUE(install()) << error_;
  EXPECT_TRUE(record().expiry_waived);
  EXPECT_THAT(steps_, Contains(HasSubstr("past its date")));
}

TEST_F(Install, WaivesNothingWhereMoreIsWrong) {
  for (const char* fault : {"expired-and-more", "unsigned"}) {
    mode(fault);
    EXPECT_EQ(install_error(), ErrorCode::io) << fault << error_;
    EXPECT_THAT(apt_calls(), Not(HasSubstr("Valid-Until")));
    EXPECT_THAT(engines(), IsEmpty());
  }
  EXPECT_THAT(error_, HasSubstr("is not signed"));
}

TEST_F(Install, EachFailureIsToldAndLeavesNothing) {
  const std::vector<std::pair<std::string, ErrorCode>> faults = {{"unknown", ErrorCode::not_found},
                                                                 {"no-download", ErrorCode::no_space},
                                                                 {"disk-full", ErrorCode::no_space},
                                                                 {"wrong-program", ErrorCode::unsupported}};
  for (const auto& [fault, code] : faults) {
    mode(fault);
    EXPECT_EQ(install_error(), code) << fault << ": " << error_;
    EXPECT_THAT(engines(), IsEmpty()) << fault;
  }
}

TEST_F(Install, AHangingAptIsStopped) {
  mode("hang");
  options_.deadline = std::chrono::milliseconds(100);
  EXPECT_EQ(install_error(), ErrorCode::timeout) << error_;
  EXPECT_THAT(engines(), IsEmpty());
}

TEST_F(Install, AKilledInstallerLeavesNothingThatCounts) {
  mode("hang");
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(install_engine(options_, {}));
    ::_exit(0);
  }
  while (!fs::exists(home_ / "hanging"))
    std::this_thread::yield();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_THAT(engines(), ElementsAre(testing::StartsWith(".tmp-")));
  mode("ok");
  ASSERT_TRUE(install());
  EXPECT_THAT(engines(), ElementsAre(kInstalled));
}

TEST_F(Install, AFailedUpgradeKeepsTheOldEngine) {
  ASSERT_TRUE(install());
  options_.upgrade = true;
  mode("disk-full");
  EXPECT_EQ(install_error(), ErrorCode::no_space);
  options_.upgrade = false;
  EXPECT_TRUE(find_engine(options_.catalogue));
  EXPECT_THAT(engines(), ElementsAre(kInstalled));
}

TEST_F(Install, ADamagedEngineIsNamedAndMadeAgain) {
  ASSERT_TRUE(install());
  fs::resize_file(installed() / "install.json", 40);
  ASSERT_TRUE(install()) << error_;
  EXPECT_THAT(skipped_, Contains(HasSubstr("is not a whole engine")));
  EXPECT_EQ(record().build, "11669");
  EXPECT_THAT(engines(), ElementsAre(kInstalled));
}

TEST_F(Install, OfTwoInstallersOneWorks) {
  std::atomic<int> done = 0;
  const auto one = [this, &done] { done += install_engine(options_, {}) ? 1 : 0; };
  options_.catalogue.on_skipped = {};
  std::thread other(one);
  one();
  other.join();
  EXPECT_EQ(done, 2);
  const std::string calls = apt_calls();
  EXPECT_EQ(calls.find("update"), calls.rfind("update"));
  EXPECT_THAT(engines(), ElementsAre(kInstalled));
}

TEST_F(Install, NewDebianAsRootUsesItsOwnPackage) {
  write("os-release", "ID=debian\nVERSION_CODENAME=forky\n");
  options_.is_root = true;
  const auto engine = install();
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ(engine->origin, "path");
  EXPECT_EQ(engine->build, "12000");
  EXPECT_THAT(apt_calls(), HasSubstr("update"));
}

TEST_F(Install, TheSystemsDownloadIsBoundedAndItsInstallIsNeverStopped) {
  write("os-release", "ID=debian\nVERSION_CODENAME=forky\n");
  options_.is_root = true;
  options_.deadline = std::chrono::milliseconds(200);
  mode("hang-in-download");
  EXPECT_EQ(install_error(), ErrorCode::timeout) << error_;
  mode("slow-dpkg");
  const auto engine = install();
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ(engine->origin, "path");
}

TEST_F(Install, NewDebianWithoutRootTakesItsOwnSuitePrivately) {
  write("os-release", "ID=debian\nVERSION_CODENAME=duke\nVERSION_ID=15\n");
  write("sources.list", "deb [signed-by=/some/own.gpg] http://mirror.example/debian duke main\n");
  ASSERT_TRUE(install()) << error_;
  EXPECT_EQ(record().suite, "duke");
}

TEST_F(Install, OtherMachinesAreToldWhatToInstall) {
  write("sources.list", "deb http://archive.example/ubuntu jammy main\n");
  EXPECT_EQ(install_error(), ErrorCode::unsupported);
  EXPECT_THAT(error_, HasSubstr("no mirror of Debian"));
  write("os-release", "ID=ubuntu\nVERSION_ID=\"22.04\"\n");
  EXPECT_EQ(install_error(), ErrorCode::unsupported);
  EXPECT_THAT(error_, HasSubstr("put it on PATH"));
  write("policy", "llama.cpp-tools:\n  Installed: (none)\n  Candidate: 0.8.0\n");
  EXPECT_EQ(install_error(), ErrorCode::permission);
  EXPECT_THAT(error_, HasSubstr("sudo apt-get install llama.cpp-tools"));
  fs::remove(home_ / "bin/apt-get");
  EXPECT_EQ(install_error(), ErrorCode::unsupported);
  EXPECT_THAT(error_, HasSubstr("no apt-get"));
}

TEST_F(Install, AnEngineOnPathIsEnough) {
  script("llama-server", "echo 'version: 6123 (a1b2c3d)'");
  const auto engine = install();
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->id, "llama-server-6123");
  EXPECT_THAT(apt_calls(), IsEmpty());
}

TEST_F(Install, AConfiguredEngineThatDoesNotRunIsAnErrorNotAReasonToInstall) {
  options_.catalogue.configured = std::string("/nowhere/llama-server");
  EXPECT_EQ(install_error(), ErrorCode::not_found);
  EXPECT_THAT(error_, HasSubstr("/nowhere/llama-server"));
  EXPECT_THAT(apt_calls(), IsEmpty());
}

}  // namespace
}  // namespace hearth::engine
