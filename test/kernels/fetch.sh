# Debian's kernels for scripts/test-kernels: sourced by it, not run.
# shellcheck shell=bash

# What a guest needs beyond its kernel, in any order: modprobe knows their dependencies.
guest_modules=(virtio_pci 9pnet_virtio 9p virtio_blk crc32c_generic ext4)

# suite_of VERSION: the part of Debian's archive that has the kernel.
suite_of() {
	case $1 in
	6.1) echo bookworm ;;
	6.12) echo bookworm-backports ;;
	7.2) echo trixie-backports ;;
	*) return 1 ;;
	esac
}

# fetch_kernel VERSION FOLDER: unpacks the newest package of that version, with its modules in the order of their dependencies.
fetch_kernel() {
	local version=$1 into=$2 tmp site release
	[ -e "$into/release" ] && [ -e "$into/brd.ko" ] && return
	echo "test-kernels: fetching Linux $version"
	rm -rf "$into" "$into.new"
	mkdir -p "$into.new"
	tmp=$(mktemp -d)
	site=$(apt-get indextargets --format '$(SITE)' | head -n 1)
	download_kernel "$version" "$tmp" "$site" || { rm -rf "$tmp"; return 1; }
	for package in "$tmp"/*.deb; do dpkg -x "$package" "$into.new"; done
	rm -rf "$tmp"
	[ -e "$into.new/lib" ] || ln -s usr/lib "$into.new/lib"
	release=$(basename "$(echo "$into.new"/lib/modules/*)")
	echo "$release" >"$into.new/release"
	cp "$into.new/boot/vmlinuz-$release" "$into.new/vmlinuz" 2>/dev/null || cp "$into.new/lib/modules/$release/vmlinuz" "$into.new/vmlinuz"
	unpack_modules "$into.new" "$release"
	mv "$into.new" "$into"
}

# download_kernel VERSION FOLDER SITE: apt reads lists of its own, so that the machine's stay as they are.
download_kernel() {
	local version=$1 tmp=$2 site=$3 key newest
	key=$(ls /usr/share/keyrings/debian-archive-keyring.* 2>/dev/null | head -n 1)
	[ -n "$site" ] && [ -n "$key" ] || { echo "test-kernels: apt has no Debian archive here, from which kernels could come" >&2; return 1; }
	mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
	local apt=(-qq -o "Dir::Etc::SourceList=$tmp/list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::lists=$tmp/lists" -o "Dir::Cache=$tmp/cache")
	echo "deb [signed-by=$key] $site $(suite_of "$version") main" >"$tmp/list"
	if ! apt-get "${apt[@]}" update 2>/dev/null; then
		# An older machine lacks the newer suite's key.
		echo "deb [trusted=yes] $site $(suite_of "$version") main" >"$tmp/list"
		apt-get "${apt[@]}" update
	fi
	# The image may be split into one package of the kernel and one of its modules.
	local packages
	packages=$(apt-cache "${apt[@]}" pkgnames |
		grep -E "^linux-(image|binary|modules)-${version//./\\.}[.+0-9a-z~-]*-amd64$" | grep -vE 'rt-|cloud|dbg|unsigned')
	newest=$(sed -E 's/^linux-[a-z]+-//' <<<"$packages" | sort -Vu | tail -n 1)
	[ -n "$newest" ] || { echo "test-kernels: the archive has no package of Linux $version" >&2; return 1; }
	(cd "$tmp" && grep -F -- "-$newest" <<<"$packages" | xargs apt-get "${apt[@]}" download 2>/dev/null)
}

# unpack_modules FOLDER RELEASE: those that a guest needs, numbered in the order in which they are to be loaded, and one that a
# test loads.
unpack_modules() {
	local into=$1/modules release=$2 n=0 file
	mkdir -p "$into"
	depmod -b "$1" "$release"
	for module in "${guest_modules[@]}"; do
		# A name without a module is built in, or does not exist in this version and is not needed.
		modprobe -d "$1" -S "$release" --show-depends "$module" 2>/dev/null || true
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$into/list"
	while read -r file; do
		n=$((n + 1))
		unpack_module "$file" "$into/$(printf %02d $n)-$(basename "${file%%.ko*}").ko"
	done <"$into/list"
	unpack_module "$(echo "$1/lib/modules/$release"/kernel/drivers/block/brd.ko*)" "$1/brd.ko"
}

# unpack_module FILE INTO
unpack_module() {
	case $1 in
	*.xz) xz -dc "$1" ;;
	*.zst) zstd -dcq "$1" ;;
	*) cat "$1" ;;
	esac >"$2"
}

# make_initramfs KERNEL INIT FILE: busybox, the modules, and an init that finds everything else on 9p.
make_initramfs() {
	local kernel=$1 init=$2 into=$3 root
	root=$(mktemp -d)
	mkdir -p "$root"/{modules,proc,sys,dev,usr,etc,run,tmp,var/tmp,root}
	for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$root/$dir"; done
	cp "$(command -v busybox)" "$root/busybox"
	cp "$kernel"/modules/*.ko "$root/modules/"
	install -m 755 "$init" "$root/init"
	chmod 755 "$root"
	(cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$into"
	rm -rf "$root"
}
