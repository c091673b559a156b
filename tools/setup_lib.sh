# shellcheck shell=sh
# shellcheck disable=SC2154 # hearth and data_dir are set by whoever sources this
# What ./quickstart and ./check share: saying what is done, installing what is missing, building. POSIX sh; meant for a bare
# Debian 12 or newer. Source it from the root of the tree.

say() { printf '\n== %s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

os_field() { (. /etc/os-release && eval "printf '%s' \"\${$1:-}\"") 2>/dev/null || true; }

# Debian 12's default Boost is 1.74, too old; it has 1.81 beside it under a name of its own.
boost_package() {
  if [ "$(os_field VERSION_CODENAME)" = bookworm ]; then echo libboost1.81-dev; else echo libboost-dev; fi
}

# What building and running Hearth needs.
build_packages() {
  echo "g++ cmake ninja-build $(boost_package) nlohmann-json3-dev libtomlplusplus-dev libcli11-dev libspdlog-dev libfmt-dev" \
    "libssl-dev libsqlite3-dev ca-certificates"
  # Signs the packages that `hearth engine install` fetches.
  if [ "$(os_field ID)" = debian ]; then echo debian-archive-keyring; fi
}

# What the tests need on top of it.
test_packages() { echo "libgtest-dev libgmock-dev libbenchmark-dev python3 clang-format"; }

# missing_packages NAME…: those that dpkg does not know as installed.
missing_packages() {
  for package in "$@"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || status=
    [ "$status" = installed ] || echo "$package"
  done
}

# Runs a command as root: directly, or through sudo, which may ask for the password.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# lock_setup: one ./quickstart or ./check of this tree sets up and builds at a time, until unlock_setup or its end.
lock_setup() {
  mkdir -p build || die "the folder build cannot be made"
  exec 9>>build/setup.lock
  flock -n 9 && return
  echo "another ./quickstart or ./check is setting this tree up; waiting for it"
  flock 9 || die "build/setup.lock cannot be locked"
}
unlock_setup() { exec 9>&-; }

# update_index: apt's package index; waits up to five minutes for whoever updates it now, as a machine does after its start.
update_index() {
  waited=0
  while :; do
    said=$(as_root env LC_ALL=C apt-get -q update 2>&1)
    status=$?
    printf '%s\n' "$said"
    [ $status != 0 ] || return 0
    case $said in
      *"Could not get lock"* | *"Unable to lock"*) ;;
      *) return $status ;;
    esac
    [ $waited -lt 300 ] || return $status
    echo "another program uses apt; trying again"
    sleep 5
    waited=$((waited + 5))
  done
}

# install_packages NAME…: does nothing, and touches no network, where all are there.
install_packages() {
  command -v dpkg-query >/dev/null 2>&1 || die "this is not a Debian system; install by hand what docs/dependencies.md names"
  # shellcheck disable=SC2046 # one word per package
  set -- $(missing_packages "$@")
  if [ $# = 0 ]; then
    echo "every package is there already"
    return
  fi
  echo "missing: $*"
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null 2>&1; then
    die "packages are missing and there is no sudo; run as root: apt-get install --no-install-recommends $*"
  fi
  update_index || echo "the package index could not be brought up to date; going on with the one that is there"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@" ||
    die "apt-get could not install the packages; its last lines above say why"
}

# cached NAME: the value of a variable in the build folder's cache.
cached() { sed -n "s/^$1:[A-Z]*=//p" build/release/CMakeCache.txt 2>/dev/null; }

# configure_release ON|OFF: the release preset, with or without tests and benchmarks.
configure_release() {
  cmake --preset release -DHEARTH_TESTS="$1" -DHEARTH_BENCH="$1" || die "cmake could not configure the build"
}

# Builds what has changed.
build_release() {
  cmake --build build/release || die "the build failed; the first error above says why"
}

# port_is_free PORT: nobody listens on it, on any address of ours.
port_is_free() {
  hex=$(printf '%04X' "$1")
  ! cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port=":$hex" '$4 == "0A" && substr($2, length($2) - 4) == port { found = 1 } END { exit !found }'
}

# free_port PORT: PORT, or the next one after it that is free.
free_port() {
  candidate=$1
  while ! port_is_free "$candidate"; do
    candidate=$((candidate + 1))
    [ "$candidate" -lt $(($1 + 200)) ] || die "no free port between $1 and $candidate"
  done
  echo "$candidate"
}

# start_server LOGFILE PORT: `hearth serve` in the background, its words added to the log; sets server_pid and HEARTH_URL and
# waits until it answers. Another server may answer on that port; ours has ended then, or has not said that it listens.
start_server() {
  log=$1
  HEARTH_URL=http://127.0.0.1:$2
  export HEARTH_URL
  before=$(cat "$log" 2>/dev/null | wc -c)
  "$hearth" serve --listen "127.0.0.1:$2" --data-dir "$data_dir" >>"$log" 2>&1 9>&- &
  server_pid=$!
  tries=0
  until said=$("$hearth" ps 2>&1 >/dev/null) && tail -c "+$((before + 1))" "$log" | grep -q "^listening on " && kill -0 "$server_pid" 2>/dev/null; do
    kill -0 "$server_pid" 2>/dev/null || die "hearth serve ended at once: $(tail -n 1 "$log")"
    tries=$((tries + 1))
    [ "$tries" -lt 150 ] || die "hearth serve does not answer on $HEARTH_URL as it should: ${said:-another server does}; see also $log"
    sleep 0.1
  done
}

# stop_server: asks it to end and returns its exit status.
stop_server() {
  [ -n "${server_pid:-}" ] || return 0
  kill -TERM "$server_pid" 2>/dev/null
  wait "$server_pid"
  status=$?
  server_pid=
  return $status
}
