package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "folder of the built tools")
	out := flag.String("out", "", "page whose results are replaced; by default they are printed")
	only := flag.String("only", "", "targets with this text in their name")
	verbose := flag.Bool("v", false, "print where stacks end that are not whole, and wrong ones")
	flag.Parse()
	// A target that is left running takes a CPU for good.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var results []result
	failed := false
	for _, t := range targets() {
		if !strings.Contains(t.name, *only) {
			continue
		}
		r, err := measure(ctx, t, *bin)
		if ctx.Err() != nil {
			os.Exit(1)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "stacktable: %s: %v\n", t.name, err)
			failed = true
			continue
		}
		results = append(results, r)
		fmt.Fprintln(os.Stderr, r.row())
		if *verbose {
			r.explain(os.Stderr)
		}
	}
	if err := write(*out, results); err != nil {
		fmt.Fprintln(os.Stderr, "stacktable:", err)
		failed = true
	}
	if failed {
		os.Exit(1)
	}
}

// result is what the recordings of a target have; none if its program is missing.
type result struct {
	target
	counts []*count // in the order of recordings
}

// measure starts a target and records it with each tool in turn.
func measure(ctx context.Context, t target, bin string) (result, error) {
	r := result{target: t}
	for _, name := range t.needs {
		if _, err := exec.LookPath(name); err != nil {
			return r, nil
		}
	}
	dir, err := os.MkdirTemp("", "wprof-stacktable-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // postgres runs as its own user
		return r, err
	}
	pid, stop, err := t.start(dir)
	if err != nil {
		return r, err
	}
	defer stop()
	recordings := []func() (*count, error){
		func() (*count, error) { return ours(bin, dir, pid, t) },
		func() (*count, error) { return ours(bin, dir, pid, t) },
		func() (*count, error) { return perf(dir, pid, t, "-g") },
		func() (*count, error) { return perf(dir, pid, t, "--call-graph", "dwarf,16384") },
	}
	for _, record := range recordings {
		c, err := record()
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return r, err
		}
		r.counts = append(r.counts, c)
	}
	return r, nil
}

// start runs the target's command and returns the process to record.
func (t target) start(dir string) (pid string, stop func(), err error) {
	source, err := filepath.Abs("test/stacktable/testdata")
	if err != nil {
		return "", nil, err
	}
	library := filepath.Join(dir, "library.so")
	if t.needs[0] == "g++" {
		if out, err := exec.Command("gcc", "-O2", "-shared", "-fPIC", "-o", library, "test/e2e/testdata/library.c").CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("compile library.c: %w\n%s", err, out)
		}
	}
	cmd := exec.Command("bash", "-c", t.command)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "src="+source, "library="+library)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = exec.Command("kill", "-9", pid).Run() // servers leave the group
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		_ = os.Remove("/tmp/perf-" + pid + ".map")
	}
	for range 300 {
		text, err := os.ReadFile(filepath.Join(dir, "pid"))
		if pid = strings.TrimSpace(string(text)); err == nil && pid != "" {
			time.Sleep(time.Second) // a JIT compiler has compiled what runs often
			return pid, stop, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("it did not start: %s", t.command)
}

// recordingTime is the length of each recording.
const recordingTime = "2"

func ours(bin, dir, pid string, t target) (*count, error) {
	file := filepath.Join(dir, "our.wprof")
	if err := run(filepath.Join(bin, "wprof-record"), "-f", "no-py-stacks", "-Stimer=499hz", "-d"+recordingTime+"s", "--unwind-cache", filepath.Join(dir, "cache"), "-p", pid, "-o", file); err != nil {
		return nil, err
	}
	return readCapture(file, t.right)
}

func perf(dir, pid string, t target, flags ...string) (*count, error) {
	file := filepath.Join(dir, "perf.data")
	args := slices.Concat([]string{"record", "-q", "-B", "-F", "499", "-e", "cpu-clock", "-o", file}, flags, []string{"-p", pid, "--", "sleep", recordingTime})
	if err := run("perf", args...); err != nil {
		return nil, err
	}
	cmd := exec.Command("perf", "script", "--no-inline", "-F", "pid,ip,sym,dso", "-i", file)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c, err := readScript(pipe, pid, t.right)
	if err != nil {
		return nil, fmt.Errorf("read perf script: %w", err)
	}
	return c, cmd.Wait()
}

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
