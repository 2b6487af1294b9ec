package info

import (
	"unique"

	"wprof/format"
	"wprof/internal/cmdline"
	"wprof/internal/container"
)

// processKey identifies a process.
type processKey struct {
	pid   int32
	start int64
}

// labels are short labels of the command lines of processes, and their cgroups: of each those after its last exec or move.
type labels map[processKey]processLabel

type processLabel struct {
	command string // "": not known
	cgroup  string // path; "": not known
}

// add adds the labels of a section that has been read up to its end, or up to where reading stops: end is nil then.
func (l labels) add(stream *format.Reader, end *format.End) {
	listed := make(map[processKey]bool)
	for _, p := range end.GetProcesses() {
		listed[processKey{p.Pid, p.Start}] = true
	}
	for id := range stream.TaskIDs() {
		d := stream.Task(format.TaskID(id))
		if d == nil || d.Tid != d.Pid || d.Command == 0 && d.Cgroup == 0 {
			continue
		}
		key := processKey{d.Pid, d.Start}
		label, known := l[key]
		if end != nil && !listed[key] || !known && len(l) >= format.MaxProcesses {
			continue
		}
		if d.Command != 0 {
			label.command = cmdline.OfTask(stream, d, string(d.ProcessComm))
		}
		if text := stream.Text(d.Cgroup); text != nil && container.IsPath(text.Text) {
			label.cgroup = unique.Make(string(text.Text)).Value() // many processes have the same one
		}
		l[key] = label
	}
}

// of returns the label of a process; its name where no command line is known.
func (l labels) of(p *format.ProcessTime) string {
	if label := l[processKey{p.Pid, p.Start}].command; label != "" {
		return label
	}
	return string(p.Comm)
}

// cgroupOf returns the path of a process's cgroup, and what it shows; "": not known.
func (l labels) cgroupOf(p *format.ProcessTime) (path string, place container.Place) {
	path = l[processKey{p.Pid, p.Start}].cgroup
	return path, container.Of(path)
}
