# Shared by the scripts: sourced, not run. Finds Go even where root's PATH lacks it.
# shellcheck shell=bash

find_go() {
	local dir home
	command -v go >/dev/null && return
	home=$(getent passwd "${SUDO_USER:-root}" | cut -d: -f6)
	for dir in /usr/local/go/bin /usr/lib/go/bin "$home/go/bin" "$home/sdk"/go*/bin "$home/.local/go/bin" /snap/bin; do
		[ -x "$dir/go" ] && PATH=$dir:$PATH && return
	done
	# The login shell of the user who called sudo may have it on its PATH.
	if [ -n "${SUDO_USER-}" ] && dir=$(runuser -l "$SUDO_USER" -c 'command -v go' 2>/dev/null); then
		PATH=$(dirname "$dir"):$PATH
		return
	fi
	echo "${0##*/}: no Go compiler on PATH nor in the usual places; install Go 1.26 or later, or add its bin folder to PATH" >&2
	return 1
}

# as_root COMMAND...: sudo only where it is needed and exists.
as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; return; fi
	command -v sudo >/dev/null || { echo "${0##*/}: $1 needs root and there is no sudo here" >&2; return 1; }
	sudo "$@"
}

# Git gives the linker the version of what it builds, but refuses a root who does not own the clone.
trust_clone() {
	export HOME=${HOME:-/root} GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$PWD
}

# build_tools FOLDER: also where git has no version. The tools need no library, so that they run on any machine.
build_tools() {
	local -x CGO_ENABLED=0
	go build -o "$1/" ./cmd/... || go build -buildvcs=false -o "$1/" ./cmd/... || return
	install -m 755 scripts/wprof-wallclock "$1/"
}
