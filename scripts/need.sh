# Sourced by other scripts: installs missing programs.

# need COMMAND PACKAGE... makes sure that COMMAND exists. It installs Debian packages if it can
# without a prompt: as root, or with a passwordless sudo.
need() {
	command -v "$1" >/dev/null 2>&1 && return 0
	wanted=$1
	shift
	command -v apt-get >/dev/null 2>&1 || return 1
	if [ "$(id -u)" -eq 0 ]; then
		as_root=
	elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
		as_root='sudo -n'
	else
		return 1
	fi
	echo "installing $* ($wanted is missing)"
	apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=60"
	$apt install --no-install-recommends "$@" >/dev/null 2>&1 ||
		{ $apt update && $apt install --no-install-recommends "$@"; } >/dev/null 2>&1 ||
		return 1
	command -v "$wanted" >/dev/null 2>&1
}
