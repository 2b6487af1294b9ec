package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// result is one boot of a kernel.
type result struct {
	kernel  string // as scripts/test-kernels calls it
	boot    string // full, one or four
	release string
	cpus    string
	place   string // where off-CPU stacks are taken
	tests   []tested
	engine  *tested // what was recorded there, in Perfetto's engine
	refused []refusal
}

// tested is the run of one test binary.
type tested struct {
	name           string // bpf, cmd_wprof-record
	passed, failed int
	failures       []string
	skips          []skip
	ended          bool // by itself, with a verdict
}

type skip struct{ test, reason string }

// refusal is the message of the recorder under a condition.
type refusal struct{ condition, sentence string }

func readResults(folder string) (all []result, err error) {
	for _, kernel := range []string{"6.1", "6.12", "host", "7.2"} {
		for _, boot := range []string{"full", "one", "four"} {
			r, err := readBoot(filepath.Join(folder, kernel, boot))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			r.kernel, r.boot = kernel, boot
			if boot == "full" {
				if r.engine, err = readEngine(filepath.Join(folder, kernel, "engine.txt")); err != nil {
					return nil, err
				}
			}
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is nothing in %s: run scripts/test-kernels", folder)
	}
	return all, nil
}

func readBoot(folder string) (r result, err error) {
	release, err := os.ReadFile(filepath.Join(folder, "release"))
	if err != nil {
		return r, err
	}
	cpus, err := os.ReadFile(filepath.Join(folder, "cpus"))
	if err != nil {
		return r, err
	}
	stats, err := os.ReadFile(filepath.Join(folder, "stats"))
	if err != nil {
		return r, err
	}
	r.release, r.cpus = strings.TrimSpace(string(release)), strings.TrimSpace(string(cpus))
	if place := regexp.MustCompile(`off-CPU stacks: taken (.*), for off-CPU times`).FindSubmatch(stats); place != nil {
		r.place = string(place[1])
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return r, err
	}
	for _, file := range files {
		t, refused, err := readTests(file)
		if err != nil {
			return r, err
		}
		r.tests = append(r.tests, t)
		r.refused = append(r.refused, refused...)
	}
	return r, nil
}

func readEngine(file string) (*tested, error) {
	t, _, err := readTests(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &t, err
}

// event is a line of test2json.
type event struct{ Action, Test, Output string }

var (
	reasonLine  = regexp.MustCompile(`^\s+\w+_test\.go:\d+: (.*)`)
	refusedLine = regexp.MustCompile(`refused: (.*?) \| (.*)`)
)

// readTests reads what a test binary has printed with -test.v.
func readTests(file string) (t tested, refused []refusal, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return t, nil, err
	}
	t.name = strings.TrimSuffix(filepath.Base(file), ".txt")
	cmd := exec.Command("go", "tool", "test2json")
	cmd.Stdin = bytes.NewReader(text)
	lines, err := cmd.Output()
	if err != nil {
		return t, nil, fmt.Errorf("read %s: %w", file, err)
	}
	said := map[string]string{} // the last word of each test
	d := json.NewDecoder(bytes.NewReader(lines))
	for d.More() {
		var e event
		if err := d.Decode(&e); err != nil {
			return t, nil, fmt.Errorf("read %s: %w", file, err)
		}
		switch e.Action {
		case "output":
			if m := reasonLine.FindStringSubmatch(e.Output); m != nil {
				said[e.Test] = m[1]
			}
			if m := refusedLine.FindStringSubmatch(e.Output); m != nil {
				refused = append(refused, refusal{m[1], strings.TrimSpace(m[2])})
			}
			switch strings.TrimSpace(e.Output) {
			case "PASS", "FAIL":
				t.ended = true
			}
		case "pass":
			if e.Test != "" {
				t.passed++
			}
		case "fail":
			if e.Test != "" {
				t.failed++
				t.failures = append(t.failures, e.Test)
			}
		case "skip":
			t.skips = append(t.skips, skip{e.Test, said[e.Test]})
		}
	}
	return t, refused, nil
}
