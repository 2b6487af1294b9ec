#!/usr/bin/env bash
# Runs test binaries on this kernel: in a guest, and on the host itself.
#
#   run.sh GIVEN OUT BOOT
#
# GIVEN has src/ (the repository), tools/ (the tools and C programs), tests/ (test binaries) and packages; OUT gets a
# file of output for each package. BOOT is full, or short for the part that runs with other numbers of CPUs.
set -u
given=$1 out=$2 boot=$3
export WPROF_TEST_TOOLS=/tmp/wprof-tools-$$
mkdir -p "$WPROF_TEST_TOOLS" "$out"
cp "$given"/tools/* "$WPROF_TEST_TOOLS/"
chmod -R a+rX "$WPROF_TEST_TOOLS"
uname -r >"$out/release"
nproc >"$out/cpus"
# Where off-CPU stacks are taken on this kernel.
"$WPROF_TEST_TOOLS/wprof-record" --stats -Soffcpu -d200ms -o /tmp/place-$$.wprof >"$out/stats" 2>&1
rm -f /tmp/place-$$.wprof

run() { # PACKAGE TESTS SKIPPED
	local name=${1#./}
	name=${name//\//_}
	[ -x "$given/tests/$name.test" ] || return
	(cd "$given/src/$1" && timeout -k 10 2400 "$given/tests/$name.test" -test.v=test2json -test.timeout 2300s -test.parallel 1 \
		-test.run "$2" ${3:+-test.skip "$3"}) >"$out/$name.txt" 2>&1 </dev/null
	echo "$? $SECONDS" >"$out/$name.status"
}

package='' tests='' skipped=''
while read -r word rest; do
	case $word in
	package | end)
		[ -z "$tests" ] || run "$package" "$tests" "$skipped"
		package=$rest tests='' skipped=''
		[ "$boot" != full ] || tests=.
		;;
	only) [ "$boot" != full ] || tests=${rest%%: *} ;;
	skip) skipped=$skipped${skipped:+|}${rest%%: *} ;;
	short) [ "$boot" != short ] || tests=$rest ;;
	esac
done < <(grep -v '^#' "$given/packages"; echo end)
# It cannot be undone, so it comes last, and only in guests.
if [ "$boot" = full ] && [ -n "${WPROF_TEST_LOCKDOWN-}" ] && [ -x "$given/tests/test_e2e.test" ] && echo confidentiality >/sys/kernel/security/lockdown; then
	(cd "$given/src/test/e2e" && "$given/tests/test_e2e.test" -test.v=test2json -test.run '^TestWhatIsMissing') >"$out/lockdown.txt" 2>&1
fi
rm -rf "$WPROF_TEST_TOOLS"
