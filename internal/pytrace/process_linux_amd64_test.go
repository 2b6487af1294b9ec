package pytrace

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	RunHelper()
	os.Exit(m.Run())
}

func TestSmoke(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, python := range strings.Fields(os.Getenv("PY")) {
		t.Run(python, func(t *testing.T) {
			cmd := exec.Command(python, "-c", `
import sys, time
def leaf(n): return n + 1
def gen(n):
    for i in range(n): yield i
def fail(): raise ValueError
def loop():
    n = 0
    print("ready", flush=True)
    end = time.time() + 2
    while time.time() < end:
        leaf(n)
        for _ in gen(2): pass
        try: fail()
        except ValueError: pass
        n += 1
    return n
print("result", loop(), flush=True)
`)
			out, _ := cmd.StdoutPipe()
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			lines.Scan()
			began := time.Now()
			p, err := Attach(cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("attached in %v", time.Since(began))
			if err := p.Started(time.Now().Add(StartWithin)); err != nil {
				t.Fatal(err)
			}
			t.Logf("started after %v", time.Since(began))
			p.Open()
			counts, lost := map[string]int{}, uint64(0)
			for range 100 {
				time.Sleep(5 * time.Millisecond)
				p.Beat()
				_, missing := p.Calls(1<<20, func(c Call) {
					if f := p.Function(c.Code); f != nil {
						counts[f.Name]++
					} else {
						counts["?"]++
					}
				})
				lost += missing
			}
			p.Shut()
			p.Close(time.Now().Add(time.Second))
			t.Logf("%v lost %d", counts, lost)
			lines.Scan()
			t.Log(lines.Text(), cmd.Wait())
		})
	}
}
