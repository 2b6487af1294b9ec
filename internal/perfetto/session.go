package perfetto

import (
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/internal/tracks"
)

// drawSession draws the window as a slice that says which command recorded it, where, when, and with which settings. A stream that
// another program wrote has no command.
func (w *view) drawSession(s *format.Session, to int64) {
	if s == nil || len(s.Command) == 0 || to <= w.opened {
		return
	}
	w.now = max(w.now, to)
	w.resetIfDue() // nothing else has been drawn of an empty stream
	key := itemKey{on: onRecording, name: "Session"}
	track, name := w.laneTrack(key, &w.items.track(key).of[0]), w.name(title(s))
	w.seq.start(sliceBegin, track, name)
	w.seq.category(catRecording)
	for _, one := range settings(s) {
		if one.value != "" {
			w.argument(&tracks.Arg{Name: one.name, Type: tracks.ArgText, Text: one.value})
		}
	}
	w.argument(&tracks.Arg{Name: "cpus", Number: uint64(len(s.Cpus))})
	w.out = w.seq.put(w.out, w.clock.earlier(w.opened))
	w.out = w.seq.finish(w.out, track, w.clock.earlier(to))
}

// title is what a trace is called: the command that was recorded if it was one, else that of the recorder, and the machine.
func title(s *format.Session) string {
	command := s.Command
	for i, word := range command {
		if word == "--" && i+1 < len(command) {
			command = command[i+1:]
			break
		}
	}
	return shownText(strings.TrimSpace(proc.CommandLine(command) + " on " + s.Host))
}

type setting struct{ name, value string }

// settings are what a session's slice shows. Their names differ.
func settings(s *format.Session) []setting {
	all := []setting{
		{"command", proc.CommandLine(s.Command)}, {"host", s.Host}, {"kernel", s.KernelRelease}, {"arch", s.Machine}, {"uuid", s.UUID()},
		{"filters", strings.Join(s.History, "\n")}, {"recorder", s.Version},
	}
	if opened := format.WallTime(s.Clocks, s.Open); !opened.IsZero() {
		all = append(all, setting{"started", opened.UTC().Format(time.RFC3339Nano)})
	}
	for _, pairs := range []struct {
		prefix string
		of     []*format.KeyValue
	}{{"setting ", s.Config}, {"note ", s.Metadata}} {
		seen := make(map[string]bool)
		for _, p := range pairs.of[:min(len(pairs.of), maxSettings)] {
			if !seen[p.GetKey()] {
				seen[p.GetKey()] = true
				all = append(all, setting{pairs.prefix + p.GetKey(), p.GetValue()})
			}
		}
	}
	return all
}

// maxSettings bounds the settings and notes that are shown.
const maxSettings = 256
