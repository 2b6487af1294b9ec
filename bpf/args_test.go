//go:build linux

package bpf

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/ringdata"
)

func (r record) args() []byte { return r.bytes[ringdata.ArgsArgs:][:r.u32(ringdata.ArgsLen)] }

// recordBefore returns the previous record of the same CPU; other CPUs may write between the two.
func recordBefore(records []record, i int) (record, bool) {
	for _, r := range slices.Backward(records[:i]) {
		if r.ring == records[i].ring {
			return r, true
		}
	}
	return record{}, false
}

func TestArgumentsAreThoseOfTheExec(t *testing.T) {
	tracer := mustLoad(t, Options{Off: format.GroupSched | format.GroupWakeup})
	for name, args := range map[string][]string{
		"one":                 {"true"},
		"empty ones":          {"", "", "a b", "", "\n", ""},
		"as many as are kept": {"true", strings.Repeat("x", argsLong-6)},
		"one byte more":       {"true", strings.Repeat("x", argsLong-5)},
		"short":               {"true", strings.Repeat("x", argsShort-6)},
		"hardly long":         {"true", strings.Repeat("x", argsShort-5)},
		"many":                strings.Split(strings.Repeat("word,", 5000), ","),
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.Cmd{Path: "/bin/true", Args: args}
			records := recording(t, tracer, func() { must(t, command.Run()) })
			want := []byte(strings.Join(args, "\x00") + "\x00")
			isCut := len(want) > argsLong
			want = want[:min(len(want), argsLong)]
			pid := command.Process.Pid
			for i, r := range records {
				if r.kind() != ringdata.KindExec || r.tid() != pid {
					continue
				}
				got, found := recordBefore(records, i)
				if !found || got.kind() != ringdata.KindArgs {
					t.Fatal("no arguments were recorded before the exec")
				}
				if !bytes.Equal(got.args(), want) || got.flags()&ringdata.FlagCut != 0 != isCut || got.tid() != pid || got.u32(ringdata.ArgsPID) != pid {
					t.Errorf("arguments of process %d %d: %.80q (%d bytes, flags %#x), want of %d %.80q (%d bytes)", got.tid(), got.u32(ringdata.ArgsPID), got.args(), len(got.args()), got.flags(), pid, want, len(want))
				}
				if got.flags()&ringdata.FlagSubject != r.flags()&ringdata.FlagSubject {
					t.Errorf("the arguments have flags %#x, the exec %#x", got.flags(), r.flags())
				}
				return
			}
			t.Error("no exec")
		})
	}
}
