//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"wprof/test/tools"
)

func TestFirstSignalKeepsEverything(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		file := filepath.Join(t.TempDir(), "x.wprof")
		r := recorder(t, "-d60s", "--no-stacks", "-o", file).start()
		r.opened(file + ".part")
		if err := r.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if status := r.wait(); status != 0 {
			t.Errorf("%v: status %d: %s", sig, status, r.stderr.String())
		}
		if c := readFile(t, file); c.window() > 20*time.Second || len(c.events) == 0 {
			t.Errorf("%v: %d events in %v", sig, len(c.events), c.window())
		}
		if _, err := os.Stat(file + ".part"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: the spool is still there: %v", sig, err)
		}
	}
}

func TestClosedPipeLeavesTheCommandItsStatus(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, flags := range [][]string{nil, {"--live"}} {
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		runs := filepath.Join(t.TempDir(), "runs")
		r := recorder(t, append(flags, "--no-stacks", "--", "sh", "-c", `: > "$0"; sleep 0.7; yes | head -n1; exit 6`, runs)...)
		r.cmd.Stdout = in
		r.start()
		in.Close()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(runs); err == nil {
				break
			}
		}
		out.Close()
		// The command's own pipes must still end by SIGPIPE: head's end has to end yes without a word.
		if status := r.wait(); status != 6 || r.stderr.String() != "y\n" {
			t.Errorf("%v: status %d: %q", flags, status, r.stderr.String())
		}
	}
}
