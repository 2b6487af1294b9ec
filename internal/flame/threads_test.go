package flame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"wprof/internal/flame/analysis"
	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/report"
	"wprof/internal/timeline"
)

// shelf is a folder in memory.
type shelf struct {
	files   map[string]string
	failing string
}

type shelved struct {
	bytes.Buffer
	in   *shelf
	name string
}

func (s *shelf) Create(name string) (File, error) { return &shelved{in: s, name: name}, nil }

func (f *shelved) Commit() error {
	if f.name == f.in.failing {
		return errors.New("no space")
	}
	if _, taken := f.in.files[f.name]; taken {
		return fmt.Errorf("%s is there already", f.name)
	}
	f.in.files[f.name] = f.String()
	return nil
}

func (f *shelved) Abort() {}

// reports say which thread they are about by its number of threads.
type reports struct{}

func (reports) Report() *report.Report { return &report.Report{Threads: 3} }

func (reports) ThreadReport(of timeline.Key) *report.Report {
	return &report.Report{Threads: int(of.TID)}
}

func TestThreadsHaveTheirOwnFiles(t *testing.T) {
	p := flametest.Analysed()
	again := *p.Threads[1] // the same thread id, used again
	p.Threads = append(p.Threads, &again)
	in := &shelf{files: make(map[string]string)}
	texts := ThreadFile{Suffix: "_analysis.txt", Write: func(w io.Writer, p *profile.Profile, v graph.View) error {
		return analysis.Write(w, p, v, reports{}.ThreadReport(analysis.KeyOf(p.Threads[0])))
	}}
	if err := writeThreadFiles(p, in, ThreadTable("a/multithread_b.c/"), graph.View{}, reports{}, texts); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"thread_10_main_analysis.txt": "threads: 10", "thread_11_kworker_0_1__x__analysis.txt": "threads: 11",
		"thread_11_kworker_0_1__x__2_analysis.txt": "threads: 11", "b.c_thread_analysis.txt": "threads: 3",
	} {
		flametest.CheckLines(t, in.files[name], want)
	}
	if len(in.files) != 4 {
		t.Errorf("%d files, want 4", len(in.files))
	}
	in = &shelf{files: make(map[string]string), failing: "thread_10_main_analysis.txt"}
	if err := writeThreadFiles(p, in, "x", graph.View{}, reports{}, texts); err == nil || err.Error() != "no space" {
		t.Errorf("a full disk is reported as %v", err)
	}
}

func TestRolesFitIntoFileNames(t *testing.T) {
	p := flametest.Analysed()
	for comm, want := range map[string]string{
		"日本語": "___", "../../etc": ".._.._etc", "": "thread", "a b\n": "a_b_", "größe": "gr__e", "nginx-1.2_x+": "nginx-1.2_x+", "main": "main",
		strings.Repeat("é", 40): strings.Repeat("_", 32),
	} {
		p.Labels[2].Comm = comm
		if got := roleInName(p, p.Threads[1]); got != want {
			t.Errorf("the role of %q is %q, want %q", comm, got, want)
		}
	}
}
