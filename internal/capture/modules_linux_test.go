package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/internal/proc"
	"wprof/internal/sideband"
)

// TestModulesThatComeAndGoAreReported: functions of a new module, from the time of the last list without it, and the removal of
// an unloaded one.
func TestModulesThatComeAndGoAreReported(t *testing.T) {
	dir := t.TempDir()
	modules, kallsyms := filepath.Join(dir, "modules"), filepath.Join(dir, "kallsyms")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(kallsyms, strings.Repeat("ffffffff81000000 T _text\n", 5000)+`ffffffffc0001000 t old_read	[old]
ffffffffc0005100 t new_write	[new]
ffffffffc0005000 t new_read	[new]
ffffffffc0005000 t same_as_new_read	[new]
ffffffffc0005180 r new_table	[new]
ffffffffc0009000 t new_init	[new]
ffffffffc0007000 t bpf_prog_a	[bpf]
ffffffffc0006000 t bpf_trampoline_1	[bpf]
ffffffffc0007040 t bpf_dispatcher_xdp	[bpf]
`)
	const old = "old 4096 0 - Live 0xffffffffc0001000 (O)\n"
	var w moduleWatch
	w.begin([]byte(old))
	since, begun := w.since, proc.Monotonic()
	write(modules, old+"new 8192 1 old, Live 0xffffffffc0005000\n")
	if got, want := shown(t, w.changed(modules, kallsyms)), "new new_read c0005000+100 at 0\nnew new_write c0005100+1f00 at 100\n"; got != want {
		t.Errorf("a module came:\n%swant\n%s", got, want)
	}
	if since > begun || w.since < begun {
		t.Errorf("the list was known at %d, then at %d", since, w.since)
	}
	if got := shown(t, w.changed(modules, kallsyms)); got != "" {
		t.Errorf("nothing changed: %s", got)
	}
	if got := shown(t, w.changed(dir, kallsyms)); got != "" {
		t.Errorf("the list cannot be read: %s", got)
	}
	write(modules, "old 4096 0 - Live 0x0000000000000000 (O)\nnew 8192 1 old, Live 0x0000000000000000\n")
	if got := shown(t, w.changed(modules, kallsyms)); got != "" {
		t.Errorf("the addresses are hidden: %s", got)
	}
	write(modules, "new 8192 1 old, Live 0xffffffffc0005000\n")
	if got, want := shown(t, w.changed(modules, kallsyms)), "old gone c0001000+1000\n"; got != want {
		t.Errorf("a module went:\n%swant\n%s", got, want)
	}
	if got := shown(t, w.changed(filepath.Join(dir, "none"), kallsyms)); got != "" {
		t.Errorf("there are no modules: %s", got)
	}
	images := newImages()
	images.read(kallsyms)
	if got, want := shown(t, images.appendImages(nil, 1)), " bpf_trampoline_1 c0006000+1000 at 0\n bpf_dispatcher_xdp c0007040+1000 at 0\n"; got != want {
		t.Errorf("images:\n%swant\n%s", got, want)
	}
}

func shown(t *testing.T, records []byte) string {
	t.Helper()
	var all strings.Builder
	for len(records) > 0 {
		var r sideband.Record
		n, err := sideband.Next(records, &r)
		if err != nil {
			t.Fatal(err)
		}
		records = records[n:]
		if r.Kind == sideband.KindFunctionGone {
			fmt.Fprintf(&all, "%s gone %x+%x\n", r.Data, uint32(r.Start), r.Length)
			continue
		}
		fmt.Fprintf(&all, "%s %s %x+%x at %x\n", r.Data, r.Path, uint32(r.Start), r.Length, r.Offset)
	}
	return all.String()
}

func TestMessagesOfTheKernelNameModules(t *testing.T) {
	for message, want := range map[string]bool{
		"add@/module/ext4\x00ACTION=add\x00": true, "remove@/module/ext4\x00": true, "add@/module/ext4": true,
		"change@/module/ext4\x00": false, "add@/module/ext4/holders\x00": false, "add@/module/\x00": false, "add@/devices/x\x00": false, "": false,
	} {
		if got := changesModules([]byte(message)); got != want {
			t.Errorf("%q: %v", message, got)
		}
	}
}
