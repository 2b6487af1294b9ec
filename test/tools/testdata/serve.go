package cli

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// request is one run of the tool. Stdin reaches it through a pipe.
type request struct {
	Args  []string
	Stdin []byte
}

// result has the fields of tools.Result that a run in this process has.
type result struct {
	Stdout, Stderr []byte
	Status         int
	PeakBytes      int64
	CPU            time.Duration
}

// Main takes the place of the function in run.go: it runs the tool once for each request on standard input, and writes
// the results to standard output.
func Main(t Tool) {
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	for {
		var r request
		if err := in.Decode(&r); err == io.EOF {
			return
		} else if err != nil {
			panic(err)
		}
		if err := out.Encode(serve(t, r)); err != nil {
			panic(err)
		}
	}
}

func serve(t Tool, q request) (r result) {
	stdin, send := pipe()
	receive, stdout := pipe()
	var others sync.WaitGroup
	others.Go(func() {
		_, _ = send.Write(q.Stdin)
		send.Close()
	})
	var output, stderr bytes.Buffer
	others.Go(func() { _, _ = io.Copy(&output, receive) })
	startPeak()
	before := cpuTime()
	r.Status = Run(t, q.Args, Std{In: stdin, Out: stdout, Err: &stderr})
	r.CPU, r.PeakBytes = cpuTime()-before, peakMemory()
	stdin.Close()
	stdout.Close()
	others.Wait()
	receive.Close()
	r.Stdout, r.Stderr = output.Bytes(), stderr.Bytes()
	return r
}

func pipe() (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	return r, w
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// startPeak makes the kernel forget how much memory earlier runs took: proc_pid_clear_refs(5).
func startPeak() {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		panic(err)
	}
}

func peakMemory() (n int64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(after, &n); err != nil {
		panic(err)
	}
	return n << 10
}
