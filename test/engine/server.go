package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// theServer is the one engine of a test binary: it takes a second to start, and holds one trace at a time. It
// ends with the test binary, when its standard input is closed.
var theServer server

type server struct {
	mu     sync.Mutex
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

func (s *server) ask(trace string, sql []string) ([][]Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stdin == nil {
		if err := s.start(); err != nil {
			return nil, fmt.Errorf("start the engine: %w", err)
		}
	}
	trace, err := filepath.Abs(trace)
	if err != nil {
		return nil, err
	}
	rows, err := s.exchange(trace, sql)
	if lost := new(lostEngine); errors.As(err, &lost) {
		s.stdin.Close()
		s.stdin = nil // the next question gets a new one
	}
	return rows, err
}

func (s *server) start() error {
	// The optimizing compiler takes 2 s of CPU for each engine, more than it saves on traces below 30 MB.
	cmd := exec.Command("node", "--liftoff-only", filepath.Join(here(), "query.mjs"), "--serve")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.stdin, s.stdout = stdin, bufio.NewReaderSize(stdout, 1<<20)
	return nil
}

// lostEngine is an error after which the engine cannot be used again.
type lostEngine struct{ err error }

func (l *lostEngine) Error() string { return "the engine ended: " + l.err.Error() }

func (s *server) exchange(trace string, sql []string) ([][]Row, error) {
	question, err := json.Marshal(map[string]any{"trace": trace, "sql": append([]string{}, sql...)})
	if err != nil {
		return nil, err
	}
	if _, err := s.stdin.Write(append(question, '\n')); err != nil {
		return nil, &lostEngine{err}
	}
	all := make([][]Row, len(sql))
	for {
		line, err := s.stdout.ReadBytes('\n')
		if err != nil {
			return nil, &lostEngine{err}
		}
		if why, failed := bytes.CutPrefix(line, []byte("failed: ")); failed {
			return nil, errors.New(string(bytes.TrimSpace(why)))
		}
		if string(line) == "done\n" {
			return all, nil
		}
		index, row, err := parse(line)
		if err != nil || index >= len(all) {
			return nil, &lostEngine{fmt.Errorf("it printed %q: %w", line, err)}
		}
		all[index] = append(all[index], row)
	}
}
