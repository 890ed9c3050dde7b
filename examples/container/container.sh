#!/bin/sh
# SPDX-License-Identifier: MIT
# A container with memcached on weft, without an engine: docs/guide/containers.md.
#
#   container.sh make FOLDER PACKAGE...    root file system, with these packages
#   container.sh run FOLDER [--allow-io-uring] COMMAND...
#   container.sh podman FOLDER COMMAND...  the same by podman, with its profile
#
# Needs root. SUITE is a suite of Debian, PROGRAMS what else is installed. PODMAN
# is the command, such as 'podman --runtime=runc'.
set -eu

suite=${SUITE:-bookworm}
programs=${PROGRAMS:-memcached}
# Docker's default capabilities.
capabilities='-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid'
capabilities="$capabilities,+setuid,+setfcap,+setpcap,+net_bind_service"
capabilities="$capabilities,+sys_chroot,+kill,+audit_write"

usage() {
	sed -n 's/^#   //p' "$0" >&2
	exit 2
}

# The mirror that apt has for Debian on this machine.
mirror() {
	# shellcheck disable=SC2016 # apt-get expands it
	apt-get indextargets --format '$(REPO_URI) $(LABEL)' \
		'Created-By: Packages' | sed -n 's/ Debian$//p' | head -n 1
}

make_root() {
	root=$1
	shift
	confine=$(dirname "$0")/confine.c
	cc -O2 -static -D_GNU_SOURCE -o "$root.confine" "$confine"
	# shellcheck disable=SC2016 # mmdebstrap's shell expands $1
	mmdebstrap --variant=minbase --include="$programs" \
		--aptopt='APT::Install-Recommends "false"' \
		--customize-hook='mkdir "$1/packages"' \
		--customize-hook="copy-in $* /packages" \
		--customize-hook='chroot "$1" sh -c "dpkg -i /packages/*.deb"' \
		--customize-hook='rm -r "$1/packages"' \
		"$suite" "$root" "deb $(mirror) $suite main"
	mv "$root.confine" "$root/usr/bin/confine"
}

# Processes, mounts, network and names of the container's own. The profile is
# set last, as an engine does it.
run() {
	root=$1
	shift
	option=
	if [ "$1" = --allow-io-uring ]; then
		option=$1
		shift
	fi
	# shellcheck disable=SC2086 # no word without the option
	exec unshare --mount --pid --fork --uts --ipc --net --cgroup \
		--kill-child --mount-proc="$root/proc" \
		chroot "$root" setpriv --bounding-set "$capabilities" \
		/usr/bin/confine $option "$@"
}

# Podman's default limits need CAP_SYS_RESOURCE, if they are above the caller's.
run_in_podman() {
	root=$1
	shift
	# shellcheck disable=SC2086 # the command and its options
	exec ${PODMAN:-podman} run --rm --network=none --ulimit nofile=4096 \
		--ulimit nproc=4096 --rootfs "$root" "$@"
}

[ $# -ge 3 ] || usage
command=$1
shift
case $command in
make) make_root "$@" ;;
run) run "$@" ;;
podman) run_in_podman "$@" ;;
*) usage ;;
esac
