package page

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// hang is how long one command may take: far longer than any does, on a machine that is very busy too.
const hang = 2 * time.Minute

// bridge is the connection to one browser with one page: see bridge.mjs.
type bridge struct {
	stdin   io.WriteCloser
	onEvent func(method string, params json.RawMessage)
	closed  chan struct{} // once the browser has ended

	mu      sync.Mutex
	sent    int
	answers map[int]chan answer
}

type answer struct {
	result json.RawMessage
	err    error
}

// message is what the bridge passes, in both directions.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// startBridge starts a browser, which ends with the test.
func startBridge(t testing.TB, width, height int, onEvent func(string, json.RawMessage)) *bridge {
	t.Helper()
	// Not t.TempDir: a test's long name would make the names of the browser's sockets too long.
	folder, err := os.MkdirTemp("", "wprof-page-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	cmd := exec.Command("node", filepath.Join(here(), "bridge.mjs"), strconv.Itoa(width), strconv.Itoa(height))
	cmd.Env = append(os.Environ(), "TMPDIR="+folder)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start a browser by Node.js: %v; scripts/test installs both", err)
	}
	b := &bridge{stdin: stdin, onEvent: onEvent, closed: make(chan struct{}), answers: make(map[int]chan answer)}
	go b.listen(stdout)
	t.Cleanup(func() {
		_ = stdin.Close()
		late := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		<-b.closed
		if err := cmd.Wait(); err != nil {
			t.Errorf("the browser ended badly: %v", err)
		}
	})
	return b
}

// here is the folder of this file.
func here() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

// call sends a command to the page and waits for its result.
func (b *bridge) call(method string, params any) (json.RawMessage, error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	await := make(chan answer, 1)
	b.mu.Lock()
	b.sent++
	id := b.sent
	b.answers[id] = await
	line, err := json.Marshal(message{ID: id, Method: method, Params: encoded})
	if err == nil {
		_, err = b.stdin.Write(append(line, '\n'))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case a := <-await:
		return a.result, a.err
	case <-b.closed:
		return nil, errors.New("the browser has ended")
	case <-time.After(hang):
		return nil, fmt.Errorf("no answer within %v", hang)
	}
}

// listen passes on the messages of the browser until it ends.
func (b *bridge) listen(stdout io.Reader) {
	defer close(b.closed)
	for in := bufio.NewReaderSize(stdout, 1<<20); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if m.Method != "" {
			b.onEvent(m.Method, m.Params)
			continue
		}
		b.mu.Lock()
		await := b.answers[m.ID]
		delete(b.answers, m.ID)
		b.mu.Unlock()
		if await == nil {
			continue
		}
		a := answer{result: m.Result}
		if m.Error != "" {
			a.err = errors.New(m.Error)
		}
		await <- a
	}
}
