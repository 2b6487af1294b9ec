//go:build linux

package probe

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

// needKernelFunctions skips the test on a kernel of which neither functions nor BPF programs can be probed.
func needKernelFunctions(t *testing.T) {
	t.Helper()
	tools.NeedPrivilege(t)
	try := tools.Try(t, time.Minute, nil, "wprof-record", "-o", filepath.Join(t.TempDir(), "try.wprof"), "-U", "k:hrtimer_nanosleep", "--", "true")
	if said := string(try.Stderr); try.Status != 0 && strings.Contains(said, "it has no kprobes (CONFIG_KPROBES), and refuses fentry") {
		t.Skip(said)
	}
}

// Spans, entries and returns of a function of the kernel, which the program calls eight times; a kernel that can probe none says so.
func TestKernelFunctions(t *testing.T) {
	needKernelFunctions(t)
	t.Run("as the kernel is", func(t *testing.T) { checkKernelFunctions(t, tools.Path("wprof-record")) })
	const kprobes = "/sys/devices/kprobe"
	if _, err := os.Stat(kprobes); err != nil {
		return
	}
	t.Run("by fentry", func(t *testing.T) {
		checkKernelFunctions(t, "unshare", "-m", "sh", "-c", "mount -t tmpfs none "+kprobes+` && exec "$0" "$@"`, tools.Path("wprof-record"))
	})
}

func checkKernelFunctions(t *testing.T, recorder ...string) {
	c := recordBy(t, recorder, []string{
		`kspan:hrtimer_nanosleep (arg:ret:s64) | id:span |`,
		`k:hrtimer_nanosleep (arg:rqtp:s64/name(ns)) | id:entry |`,
		`kret:hrtimer_nanosleep (arg:ret:s64) | id:return |`,
	}, tools.Path("known"), "all")
	if spans, entries, returns := c.of("span"), c.of("entry"), c.of("return"); len(spans) != 8 || len(entries) != 8 || len(returns) != 8 {
		t.Fatalf("%d spans, %d entries and %d returns of 8 calls", len(spans), len(entries), len(returns))
	}
	for i, e := range c.of("span") {
		wanted := int64(1000000 << (i / 2))
		outside, _ := strconv.ParseInt(c.said["outside"][i], 10, 64)
		if e.number(t, "ret") != 0 || e.Dur < wanted || e.Dur > outside || c.of("entry")[i].number(t, "ns") != wanted || c.of("return")[i].number(t, "ret") != 0 {
			t.Errorf("span %d: %d ns, %s, entry %s; slept for %d ns, which took %d", i, e.Dur, e.Args, c.of("entry")[i].Args, wanted, outside)
		}
	}
}
