package tools

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// servers are processes that run tools for [Serve], by the tool's name.
var servers struct {
	build sync.Once
	err   error
	mu    sync.Mutex
	idle  map[string][]*server
}

type server struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    *gob.Encoder
	in     *gob.Decoder
	stderr Buffer
}

// Serve runs a renderer as [Try] does, from its arguments to its exit status, but many runs in one process: that of a build
// whose main function takes runs from a pipe. A run that ends its process, or does not end in time, has that as its result;
// the next one gets a new process. The processes end with the test process.
func Serve(t testing.TB, limit time.Duration, stdin []byte, name string, args ...string) Result {
	t.Helper()
	one, err := takeServer(name)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	late := time.AfterFunc(limit, func() { _ = one.cmd.Process.Kill() })
	var r Result
	if err = one.out.Encode(struct {
		Args  []string
		Stdin []byte
	}{args, stdin}); err == nil {
		err = one.in.Decode(&r)
	}
	took := time.Since(begin)
	if late.Stop() && err == nil {
		r.Took = took
		servers.mu.Lock()
		servers.idle[name] = append(servers.idle[name], one)
		servers.mu.Unlock()
		return r
	}
	one.stdin.Close()
	_ = one.cmd.Wait()
	r = Result{Stderr: []byte(one.stderr.String()), Status: Status(one.cmd.ProcessState), Took: took}
	if took >= limit {
		r.Status = 124
	}
	return r
}

// takeServer returns a process that waits for a run.
func takeServer(name string) (*server, error) {
	servers.build.Do(func() { servers.err = buildServers(filepath.Join(folder, "served")) })
	servers.mu.Lock()
	defer servers.mu.Unlock()
	if servers.err != nil {
		return nil, servers.err
	}
	if last := len(servers.idle[name]) - 1; last >= 0 {
		one := servers.idle[name][last]
		servers.idle[name] = servers.idle[name][:last]
		return one, nil
	}
	one := &server{cmd: exec.Command(filepath.Join(folder, "served", name))}
	one.cmd.Stderr = &one.stderr
	stdin, err := one.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := one.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	one.stdin, one.out, one.in = stdin, gob.NewEncoder(stdin), gob.NewDecoder(stdout)
	if err := one.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return one, nil
}

// buildServers builds the renderers with a cli.Main that serves runs.
func buildServers(dir string) error {
	servers.idle = map[string][]*server{}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	_, here, _, _ := runtime.Caller(0)
	here = filepath.Dir(here)
	cli := filepath.Join(here, "../../internal/cli")
	run, err := os.ReadFile(filepath.Join(cli, "run.go"))
	if err != nil {
		return err
	}
	renamed := bytes.Replace(run, []byte("func Main("), []byte("func runOnce("), 1)
	if bytes.Equal(renamed, run) {
		return errors.New("internal/cli/run.go has no function Main")
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(cli, "run.go"):   filepath.Join(dir, "run.go"),
		filepath.Join(cli, "serve.go"): filepath.Join(here, "testdata/serve.go"),
	}})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"run.go": renamed, "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	args := []string{"build", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", dir + "/"}
	for _, name := range []string{"filter", "flame", "info", "json", "perfetto", "symbolize"} {
		args = append(args, "wprof/cmd/wprof-"+name)
	}
	return command("go", args...)
}
