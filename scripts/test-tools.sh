#!/usr/bin/env bash
# Installs the Debian packages that the tests need and this machine lacks. `npm test` runs it.
# As root it installs them; in continuous integration (CI=true) with sudo; anybody else gets the
# command to run. The exit code is 1 if something is missing afterwards.
set -euo pipefail
# A user's PATH often has neither.
PATH=$PATH:/usr/sbin:/sbin

missing=()
# Node 26 is linked to it.
ldconfig -p 2>/dev/null | grep -q 'libatomic\.so\.1' || missing+=(libatomic1)
# The demo engine's binding is linked to OpenMP; the embedded database dies with its owner by setpriv.
ldconfig -p 2>/dev/null | grep -q 'libgomp\.so\.1' || missing+=(libgomp1)
command -v setpriv >/dev/null || missing+=(util-linux)
# Tests of TLS make certificates with it.
command -v openssl >/dev/null || missing+=(openssl)
# test/browser drives it.
command -v chromium >/dev/null || missing+=(chromium)
# test/edge runs deploy/nginx.conf.
command -v nginx >/dev/null || missing+=(nginx)
# test/docs checks deploy/naru.service with its systemd-analyze, test/cli passes a socket with its
# systemd-socket-activate.
command -v systemd-analyze >/dev/null && command -v systemd-socket-activate >/dev/null || missing+=(systemd)
# test/watching checks deploy/prometheus and deploy/grafana with its promtool.
command -v promtool >/dev/null || missing+=(prometheus)

# The quick tier prefers it, for a quarter less processor time. Not every distribution has it, so it
# is installed with the others only.
optional=()
command -v chromium-headless-shell >/dev/null || optional+=(chromium-headless-shell)

((${#missing[@]})) || exit 0

if ! command -v apt-get >/dev/null; then
  echo "tests: this machine lacks what these Debian packages have: ${missing[*]}. Tests that need it will fail." >&2
  exit 1
fi

as_root=()
if ((EUID != 0)); then
  if [[ ${CI:-} != true ]]; then
    echo "tests: some tests will fail without these packages: sudo apt-get install ${missing[*]} ${optional[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n)
fi

install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null
}

echo "tests: installing ${missing[*]} (Debian packages, once)" >&2
for attempt in 1 2 3; do
  if "${as_root[@]}" apt-get update -qq </dev/null >/dev/null && install "${missing[@]}"; then
    ((${#optional[@]})) && install "${optional[@]}" 2>/dev/null || true
    exit 0
  fi
  echo "tests: apt-get failed (attempt $attempt of 3)" >&2
  sleep $((attempt * 5))
done
exit 1
