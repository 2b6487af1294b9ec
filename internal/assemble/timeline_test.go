package assemble

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/spool"
	"wprof/internal/timeline"
)

// TestStatesAreWhatTimelineMakesOfTheEvents holds every state in a stream, but the first one, against the state that
// internal/timeline has after the events before it.
func TestStatesAreWhatTimelineMakesOfTheEvents(t *testing.T) {
	texts, err := filepath.Glob("testdata/*.spool")
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, file := range texts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := spool.Open(spoolFile(t, string(text)))
		if err != nil {
			t.Fatal(err)
		}
		var stream bytes.Buffer
		if _, err := Finalise(s, format.NewWriter(&stream, format.WriterOptions{}), textOptions()); err == nil {
			held += holdStates(t, file, stream.Bytes())
		}
		s.Close()
	}
	if held < 20 {
		t.Errorf("%d events of states were looked at, want 20 or more", held)
	}
}

// holdStates returns how many events of states it has compared.
func holdStates(t *testing.T, name string, stream []byte) int {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tl := timeline.New(r)
	var want, got []string
	held, state, at := 0, false, int64(0)
	begun := r.FirstOpen() // the state of this time begins a section: nothing is known before it
	compare := func() {
		for _, line := range got {
			// After a loss a list of tasks says what no event has said.
			if !slices.Contains(want, line) && !strings.Contains(line, " approx ") {
				t.Errorf("%s: timeline does not have %s", name, line)
			}
		}
		for _, line := range want {
			if !slices.Contains(got, line) {
				t.Errorf("%s: only timeline has %s", name, line)
			}
		}
		held += len(got)
		want, got, state = nil, nil, false
	}
	for sections := 1; ; {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			compare()
			return held
		}
		if err != nil {
			t.Fatal(err)
		}
		isState := e.Kind == format.KindStateCPU || e.Kind == format.KindStateThread
		if e.Time != at {
			at = e.Time
			compare()
		}
		if n := r.Sections(); n != sections {
			sections, begun = n, e.Time
			tl.NewSection()
			compare()
		} else if isState && e.Time != begun && !state {
			state = true
			err = tl.WriteState(e.Time, e.Flags&format.FlagOpen != 0, func(e *format.Event) error {
				want = append(want, stateText(e))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		} else if !isState {
			compare()
		}
		if state {
			of := *e
			if of.Flags&format.StateHasStack != 0 { // the recorder alone knows it
				of.Flags &^= format.StateHasStack
				of.Args[format.StateThreadStack] = 0
			}
			if of.Flags&format.StateHasWait != 0 {
				of.Flags &^= format.StateHasWait
				of.Args[format.StateThreadWait] = 0
			}
			got = append(got, stateText(&of))
		}
		tl.Apply(e)
	}
}

func stateText(e *format.Event) string {
	approx := ""
	if e.Flags&format.StateApprox != 0 {
		approx = " approx"
	}
	return fmt.Sprintf("%d %d %#x%s cpu%d %d %v", e.Time, e.Kind, e.Flags, approx, e.CPU, e.Task, e.Args)
}
