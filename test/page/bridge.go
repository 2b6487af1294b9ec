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
	"sync"
	"testing"
	"time"
)

// hang is how long one command may take: far longer than any does, on a machine that is very busy too.
const hang = 2 * time.Minute

// bridge is the connection to one browser with one page: see bridge.mjs.
type bridge struct {
	stdin  io.WriteCloser
	closed chan struct{} // once the browser has ended

	mu      sync.Mutex
	onEvent func(method string, params json.RawMessage)
	sent    int
	answers map[int]chan answer
}

// idle are the browsers that no test uses: starting one takes a second of CPU. They end with the test process.
var idle struct {
	mu  sync.Mutex
	all []*bridge
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

// takeBridge returns a browser with a new page, in which nothing is left of other tests, until the test ends.
func takeBridge(t testing.TB, onEvent func(string, json.RawMessage)) *bridge {
	t.Helper()
	idle.mu.Lock()
	var b *bridge
	if last := len(idle.all) - 1; last >= 0 {
		b, idle.all = idle.all[last], idle.all[:last]
	}
	idle.mu.Unlock()
	if b == nil {
		b = startBridge(t, onEvent)
	} else {
		b.observe(onEvent)
		if _, err := b.call("renew", nil); err != nil {
			t.Fatalf("open a new page: %v", err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			_ = b.stdin.Close() // the browser may be to blame
			return
		}
		b.observe(nil)
		idle.mu.Lock()
		defer idle.mu.Unlock()
		idle.all = append(idle.all, b)
	})
	return b
}

// startBridge starts a browser with a window of 1280 by 800, and with flags of Chromium.
func startBridge(t testing.TB, onEvent func(string, json.RawMessage), flags ...string) *bridge {
	t.Helper()
	// Not t.TempDir: a test's long name would make the names of the browser's sockets too long. The bridge removes it.
	folder, err := os.MkdirTemp("", "wprof-page-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", append([]string{filepath.Join(here(), "bridge.mjs"), folder, "1280", "800"}, flags...)...)
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
	go func() {
		b.listen(stdout)
		_ = cmd.Wait()
	}()
	return b
}

// observe passes events to a function from now on; nil: to none.
func (b *bridge) observe(onEvent func(string, json.RawMessage)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onEvent = onEvent
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
			b.mu.Lock()
			onEvent := b.onEvent
			b.mu.Unlock()
			if onEvent != nil {
				onEvent(m.Method, m.Params)
			}
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
