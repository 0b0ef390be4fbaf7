#!/usr/bin/env bash
# Tries the set-ups on a bare Debian 12: makes a minimal root, lays a clean clone of HEAD in it, and runs there
#
#   Tests/fresh-root.sh [--keep] [--in DIR] [COMMAND...]
#
# Without COMMAND: ./Samples/demo.sh, then ./Tests/run.sh. --keep leaves the root where it is and says where; --in uses
# one that was kept, as it is, but for a new clone.
#
# Only the Swift toolchain of this machine is lent to it, and what the machine says about where packages come from: apt
# sources, pip's configuration, certificates, and git's URL replacements with the folders they lead to. Everything that is
# mounted is so in a mount namespace of its own: it is gone when the command is, however that ends.
# Needs root (or sudo).
set -euo pipefail
here=$(realpath "$(dirname "$0")/..")

# --- The second stage: in a mount namespace of its own, with everything prepared ---
if [ "${1:-}" = --inside ]; then
    root=$2 toolchain=$3 lent=$4
    shift 4
    # A root must be a mount point for unshare(1) to work in it.
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/run"
    while IFS= read -r folder; do
        [ -n "$folder" ] || continue
        mkdir -p "$root$folder"
        mount --bind -o ro "$folder" "$root$folder"
    done <<<"$lent"
    environment=(HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" CI="${CI:-}")
    environment+=(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$toolchain/bin")
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL PIP_EXTRA_INDEX_URL \
        PIP_FIND_LINKS PIP_CERT PIP_DEFAULT_TIMEOUT; do
        [ -z "${!name:-}" ] || environment+=("$name=${!name}")
    done
    # As a real root and not by chroot alone, so that nothing of the machine's is left to be seen.
    cd "$root"
    mkdir -p .machine
    pivot_root . .machine
    exec chroot . /usr/bin/env -i "${environment[@]}" bash -c '
        umount -l /.machine && rmdir /.machine
        cd /router && exec "$@"' fresh-root "$@"
fi

# --- The first stage ---
keep=no root=
arguments=("$@")
while [ $# -gt 0 ]; do
    case "$1" in
        --keep) keep=yes; shift ;;
        --in) keep=yes root=$(realpath "${2:?a folder}"); shift 2 ;;
        *) break ;;
    esac
done
[ $# -gt 0 ] || set -- bash -c './Samples/demo.sh && ./Tests/run.sh'

if [ "$(id -u)" != 0 ]; then
    exec sudo --preserve-env=PATH,CI,http_proxy,https_proxy,no_proxy "$0" ${arguments[@]+"${arguments[@]}"}
fi

swift=$(realpath "$(command -v swift)") || { echo "fresh-root: swift is not in PATH" >&2; exit 78; }
toolchain=$(dirname "$(dirname "$swift")")
case "$toolchain" in
    / | /usr) echo "fresh-root: the toolchain in $toolchain cannot be lent without all of $toolchain" >&2; exit 78 ;;
esac
lent=$toolchain

command -v debootstrap >/dev/null ||
    apt-get -o DPkg::Lock::Timeout=300 -q install -y --no-install-recommends debootstrap >/dev/null

made=no
if [ -z "$root" ]; then
    made=yes
    root=$(mktemp -d "${TMPDIR:-/tmp}/router-fresh-root.XXXXXX")
    # apt gives up its rights while it fetches, and must still get through.
    chmod 755 "$root"
fi
clean() {
    if [ $keep = yes ]; then echo "fresh-root: kept $root"; else rm -rf --one-file-system "$root"; fi
}
trap clean EXIT

if [ $made = yes ]; then
    mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        grep -oE 'https?://[^ ]*/debian/?( |$)' | head -n 1 | tr -d ' ') || true
    echo "fresh-root: bookworm from ${mirror:=http://deb.debian.org/debian} in $root"
    start=$SECONDS
    log=$here/.build/test-logs/debootstrap.log
    mkdir -p "$(dirname "$log")"
    unshare --mount --propagation private debootstrap --variant=minbase bookworm "$root" "$mirror" >"$log" 2>&1 ||
        { tail -n 20 "$log" >&2; echo "fresh-root: debootstrap failed; more in $log" >&2; exit 1; }
    echo "fresh-root: made in $((SECONDS - start)) s"
fi

# Where packages come from. Of apt's settings only those about fetching: others name programs of this machine.
copy() { [ ! -e "$1" ] || { mkdir -p "$root$(dirname "$1")" && cp -a "$1" "$root$1"; }; }
rm -f "$root/etc/apt/sources.list"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    # Third-party sources may need keys and transports of their own, and nothing is wanted from them.
    if [ -e "$file" ] && grep -qE '/debian(-security)?/?( |$)' "$file"; then copy "$file"; fi
done
for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
    if [ -e "$file" ] && grep -q '^ *Acquire' "$file"; then copy "$file"; fi
done
copy /etc/resolv.conf
copy /etc/hosts
copy /etc/pip.conf
copy /root/.config/pip/pip.conf
copy /usr/local/share/ca-certificates
copy /etc/ssl/certs/ca-certificates.crt
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"

# git's URL replacements, and the folders that they lead to.
rm -f "$root/root/.gitconfig"
while read -r key value; do
    [ -n "$key" ] || continue
    git config --file "$root/root/.gitconfig" --add "$key" "$value"
    to=${key#url.}
    to=${to%.insteadof}
    case "$to" in /*) lent+=$'\n'${to%/} ;; esac
done < <(git config --get-regexp '^url\..*\.insteadof$' || true)
git config --file "$root/root/.gitconfig" --add safe.directory '*'
for links in ${PIP_FIND_LINKS:-}; do case "$links" in /*) lent+=$'\n'$links ;; esac; done
lent=$(sort -u <<<"$lent")

# What was built stays, so that a kept root is quick.
if [ -d "$root/router" ]; then
    git -C "$root/router" fetch -q "$here" HEAD
    git -C "$root/router" reset -q --hard FETCH_HEAD
else
    git clone -q "$here" "$root/router"
fi

start=$SECONDS
status=0
unshare --mount --pid --fork --kill-child --propagation private \
    "$BASH" "$here/Tests/fresh-root.sh" --inside "$root" "$toolchain" "$lent" "$@" || status=$?
echo "fresh-root: ended with status $status after $((SECONDS - start)) s"
exit $status
