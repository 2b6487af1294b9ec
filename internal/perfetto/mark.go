package perfetto

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"wprof/internal/cli"
	"wprof/internal/timeline"
	"wprof/internal/tracks"
)

// mark is a condition of --mark: what it is called, and terms that must all hold.
type mark struct {
	text  string
	of    measure
	least time.Duration // the time is longer
	names []nameTerm
}

// measure is the time of a thread that a mark measures.
type measure uint8

const (
	measureOnCPU measure = iota
	measureOffCPU
	measureDelay
)

// nameTerm compares the name of a thread or its process with a pattern.
type nameTerm struct {
	ofProcess bool
	pattern   string
}

// Marks are the conditions of --mark.
type Marks struct{ all []mark }

// ParseMarks parses conditions like "offcpu>10ms" and "delay>1ms & thread=nginx*".
func ParseMarks(texts []string) (*Marks, error) {
	m := &Marks{}
	for _, text := range texts {
		one, err := parseMark(text)
		if err != nil {
			return nil, fmt.Errorf("--mark %q: %w", text, err)
		}
		m.all = append(m.all, one)
	}
	return m, nil
}

func parseMark(text string) (mark, error) {
	m := mark{text: text}
	measured := false
	for term := range strings.SplitSeq(text, "&") {
		term = strings.TrimSpace(term)
		if name, value, found := strings.Cut(term, "="); found {
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			if name != "thread" && name != "process" {
				return m, fmt.Errorf("%q is neither thread nor process", name)
			}
			if _, err := path.Match(value, ""); err != nil {
				return m, fmt.Errorf("%q is not a pattern: %w", value, err)
			}
			m.names = append(m.names, nameTerm{name == "process", value})
			continue
		}
		name, value, found := strings.Cut(term, ">")
		of, known := map[string]measure{"oncpu": measureOnCPU, "offcpu": measureOffCPU, "delay": measureDelay}[strings.TrimSpace(name)]
		if !found || !known || measured {
			return m, fmt.Errorf("want one of oncpu>TIME, offcpu>TIME and delay>TIME, as in \"offcpu>10ms & thread=nginx*\"")
		}
		least, err := cli.ParseDuration(strings.TrimSpace(value))
		if err != nil {
			return m, err
		}
		m.of, m.least, measured = of, least, true
	}
	if !measured {
		return m, fmt.Errorf("want a time, as in \"offcpu>10ms & thread=nginx*\"")
	}
	return m, nil
}

// needsRuns reports whether a condition holds for times that joined runs do not show.
func (m *Marks) needsRuns() bool {
	for _, one := range m.all {
		if one.least < time.Millisecond {
			return true
		}
	}
	return false
}

// mark draws the times of a slice's thread for which conditions hold, on a track for each condition.
func (w *view) mark(t *thread, s *tracks.Slice) {
	if w.on.Marks == nil {
		return
	}
	for i := range w.on.Marks.all {
		m := &w.on.Marks.all[i]
		from, to, ok := m.measured(s)
		if ok && to-from > int64(m.least) && m.matches(s) {
			w.drawMark(m, t, max(from, w.opened), to, to-from)
		}
	}
}

// measured returns the time that a condition measures, as far as the slice shows it.
func (m *mark) measured(s *tracks.Slice) (from, to int64, ok bool) {
	isRunning := s.Kind == timeline.SpanRunning
	switch m.of {
	case measureOnCPU:
		return s.From, s.To, isRunning && s.Runs == 0
	case measureOffCPU:
		if s.Kind == timeline.SpanBlocked {
			return s.Began(), s.To, s.Open
		}
		return s.Off.Since, s.Began(), isRunning && s.Off.Known
	}
	return s.Off.Ready(), s.Began(), isRunning && s.Off.Woken != 0
}

// matches reports whether all names match.
func (m *mark) matches(s *tracks.Slice) bool {
	for _, n := range m.names {
		name := s.Task.Def.Comm
		if n.ofProcess {
			name = s.Task.Def.ProcessComm
		}
		if ok, _ := path.Match(n.pattern, string(name)); !ok {
			return false
		}
	}
	return true
}

func (w *view) drawMark(m *mark, t *thread, from, to, length int64) {
	key := itemKey{on: ofMarks, name: shownText(m.text)}
	known := w.items.track(key)
	lane, from := known.lanes.PlaceApart(from, to)
	track, name := w.laneTrack(key, &known.of[lane]), w.name(string(t.drawn.name)+" "+strconv.Itoa(int(t.tid)))
	w.seq.start(sliceBegin, track, name)
	w.seq.category(catMark)
	w.seq.number(annLength, uint64(length))
	w.out = w.seq.put(w.out, w.clock.earlier(from))
	w.out = w.seq.finish(w.out, track, w.clock.earlier(to))
}

// marksGroup is the track above those of conditions.
func (w *view) marksGroup() uint64 {
	return w.groupTrack(groupKey{process: -2}, func(out []byte) []byte {
		out = appendString(out, trackName, "Marks")
		return appendString(out, trackDescription, "Where the conditions of --mark hold.")
	})
}
