#!/bin/sh
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# setup.sh LEVEL: install what is missing: Debian packages, .venv with pinned requirements, and the folder in which ansible
# finds this checkout as a collection. Levels:
#   build demo         the archive; the demo and other labs
#   test gate all      make test; make gate; make test-all: each contains the one before
#   kernels smc        the s390x kernels; those with SMC
#   release            the checks of a release
set -eu
cd "$(dirname "$0")/.."
level=$1

# at LEVEL...: whether the chosen level is one of these
at() {
    case " $* " in *" $level "*) ;; *) return 1 ;; esac
}

fail() {
    echo "setup: $*" >&2
    exit 1
}

have() {
    PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null 2>&1
}

command -v python3 >/dev/null || fail "python3 is missing; please install it (Debian package python3)."
python=$(python3 tests/pythons.py 3.13 3.12 3.11) ||
    fail "ansible-core needs Python 3.11, 3.12 or 3.13, and this machine has none of them."

missing=
need() { # need PROGRAM PACKAGE...: the packages if the program is not there
    program=$1
    shift
    have "$program" || missing="$missing $*"
}
if ! at build; then
    need ip iproute2
    need sshd openssh-server
    need ssh-keygen openssh-client
    need unshare util-linux
fi
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
if ! at demo kernels smc; then
    need git git
fi
if at test gate all; then
    need openssl openssl
    need ps procps
fi
if at gate all; then
    need fio fio
    need sadf sysstat
    need qperf qperf
    need sockperf sockperf
    need perf linux-perf
    need sysbench sysbench
    need pgbench postgresql
fi
if at gate all release; then
    need shellcheck shellcheck
fi
if at release; then
    need gpg gpg gpg-agent
fi
if at all; then
    need chromium chromium
    need npm npm
    need sudo sudo
fi
if at all kernels smc; then
    need hercules hercules
    need qemu-system-s390x qemu-system-s390x
    need cpio cpio
    need depmod kmod
    need mkfs.ext4 e2fsprogs
fi
if at smc; then
    need s390x-linux-gnu-gcc gcc-s390x-linux-gnu
fi

if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    else
        fail "please install these Debian packages as root, then start again:$missing"
    fi
    have apt-get || fail "please install what Debian calls:$missing"
    echo "setup: installing Debian packages:$missing"
    log=$(mktemp)
    install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install -y --no-install-recommends $missing"
    # A machine that was never updated has no package lists: fetch them only then.
    if ! $install >"$log" 2>&1; then
        $as_root apt-get -o Acquire::Retries=3 update >"$log" 2>&1 || { cat "$log" >&2; fail "apt-get update failed, see above."; }
        $install >"$log" 2>&1 || { cat "$log" >&2; fail "apt-get could not install$missing, see above."; }
    fi
    rm -f "$log"
fi

# netperf is in main of Debian 13 and in non-free of Debian 12, which this machine's apt may not know. Separate lists leave its
# configuration alone, and the package is only unpacked.
fetch_netperf() (
    release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    # shellcheck disable=SC2016  # apt replaces these names
    mirror=$(apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' 'Component: main' |
        sed -n "s/^$release //p" | head -n 1)
    [ -n "$mirror" ] || return 1
    rm -rf .cache/netperf
    mkdir -p .cache/netperf/lists/partial .cache/netperf/archives/partial
    cd .cache/netperf
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$keys] $mirror $release main non-free" >sources.list
    set -- -o "Dir::Etc::SourceList=$(pwd)/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$(pwd)/lists" \
        -o "Dir::Cache=$(pwd)" -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3
    apt-get -qq "$@" update && apt-get -qq "$@" download netperf && dpkg -x netperf_*.deb new && mv new/usr usr
    status=$?
    rm -rf lists ./*.bin
    return "$status"
)
if at gate all && ! have netserver && [ ! -x .cache/netperf/usr/bin/netserver ]; then
    echo "setup: unpacking Debian's netperf into .cache/netperf"
    fetch_netperf || echo "setup: netperf could not be fetched: its tests are skipped, and in CI they fail." >&2
fi

# The service would change this machine, so its package is only unpacked: the tests compare how it merges settings.
fetch_tuned() (
    rm -rf .cache/tuned
    mkdir -p .cache/tuned
    cd .cache/tuned
    apt-get -qq -o APT::Sandbox::User=root -o Acquire::Retries=3 download tuned && dpkg -x tuned_*.deb .
)
if at gate all && [ ! -d .cache/tuned/usr ]; then
    echo "setup: unpacking Debian's tuned into .cache/tuned"
    fetch_tuned || echo "setup: tuned could not be fetched: its test is skipped, and in CI it fails." >&2
fi

# The requirements of a level include those of the levels before it.
wanted="-r requirements.txt"
stamp=.venv/.setup-demo
if ! at build demo; then
    wanted="$wanted -r requirements-dev.txt"
    stamp=.venv/.setup-test
fi
if at gate all; then
    wanted="$wanted -r requirements-gate.txt"
    stamp=.venv/.setup-gate
fi
now=$("$python" --version; cat requirements.txt requirements-dev.txt requirements-gate.txt constraints.txt; pwd)
if [ ! -x .venv/bin/python ] || [ "$(cat .venv/.python 2>/dev/null)" != "$python in $(pwd)" ]; then
    echo "setup: making .venv with $python"
    rm -rf .venv
    "$python" -m venv .venv
    echo "$python in $(pwd)" >.venv/.python
fi
if [ "$(cat "$stamp" 2>/dev/null)" != "$now" ]; then
    echo "setup: installing Python requirements into .venv"
    # shellcheck disable=SC2086  # several words on purpose
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $wanted
    echo "$now" >"$stamp"
fi

# axe-core for the tests in the browser, with the version of the lock file.
if at all; then
    node=.cache/browser
    if ! cmp -s tests/browser/package-lock.json "$node/.installed"; then
        echo "setup: installing axe-core into $node"
        mkdir -p "$node"
        cp tests/browser/package.json tests/browser/package-lock.json "$node/"
        npm ci --prefix "$node" --ignore-scripts --no-audit --no-fund --loglevel=error
        cp "$node/package-lock.json" "$node/.installed"
    fi
fi

# The collection awx.awx, for the tests of docs/awx. Version 10 of the package ansible is the last that contains it.
awx=ansible==10.7.0
if at all && [ "$(cat .cache/awx/.of 2>/dev/null)" != "$awx" ]; then
    echo "setup: unpacking awx.awx of $awx into .cache/awx"
    rm -rf .cache/awx
    mkdir -p .cache/awx
    .venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --dest .cache/awx/package "$awx"
    "$python" - .cache/awx <<'END'
import pathlib
import sys
import zipfile

target = pathlib.Path(sys.argv[1])
(wheel,) = target.glob("package/ansible-*.whl")
with zipfile.ZipFile(wheel) as content:
    content.extractall(target, [name for name in content.namelist() if name.startswith("ansible_collections/awx/awx/")])
END
    rm -rf .cache/awx/package
    echo "$awx" >.cache/awx/.of
fi

mkdir -p .cache/collections/ansible_collections/zpower
[ -e .cache/collections/ansible_collections/zpower/sap_tuning ] ||
    ln -sfn ../../../.. .cache/collections/ansible_collections/zpower/sap_tuning
