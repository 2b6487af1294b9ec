package info

import (
	"wprof/format"
	"wprof/internal/cmdline"
)

// processKey identifies a process.
type processKey struct {
	pid   int32
	start int64
}

// labels are short labels of the command lines of processes: of each the one after its last exec.
type labels map[processKey]string

// add adds the labels of a section that has been read up to its end, or up to where reading stops: end is nil then.
func (l labels) add(stream *format.Reader, end *format.End) {
	listed := make(map[processKey]bool)
	for _, p := range end.GetProcesses() {
		listed[processKey{p.Pid, p.Start}] = true
	}
	for id := range stream.TaskIDs() {
		d := stream.Task(format.TaskID(id))
		if d == nil || d.Tid != d.Pid || d.Command == 0 {
			continue
		}
		key := processKey{d.Pid, d.Start}
		_, known := l[key]
		if end != nil && !listed[key] || !known && len(l) >= format.MaxProcesses {
			continue
		}
		l[key] = cmdline.OfTask(stream, d, string(d.ProcessComm))
	}
}

// of returns the label of a process; its name where no command line is known.
func (l labels) of(p *format.ProcessTime) string {
	if label := l[processKey{p.Pid, p.Start}]; label != "" {
		return label
	}
	return string(p.Comm)
}
