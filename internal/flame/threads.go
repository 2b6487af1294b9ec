package flame

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Folder makes files in a folder.
type Folder interface {
	// Create begins a file, which is in the folder from its Commit on.
	Create(name string) (File, error)
}

// File is one that appears complete or not at all.
type File interface {
	io.Writer
	Commit() error
	Abort() // does nothing after Commit
}

// ThreadFile is what is written of each thread.
type ThreadFile struct {
	Suffix string // of its name: ".svg"
	// Write gets a profile that has only one thread, and the view of the whole.
	Write func(p *Profile, w io.Writer, v View) error
}

// AnalysisFile is WriteAnalysis of each thread.
func AnalysisFile() ThreadFile {
	return ThreadFile{Suffix: "_analysis.txt", Write: (*Profile).WriteAnalysis}
}

// WriteThreads writes files of each thread of a view, thread_TID_ROLE and a suffix, and, under the name table, a table of all
// threads.
func (p *Profile) WriteThreads(in Folder, table string, v View, files ...ThreadFile) error {
	names := make(threadNames)
	for i, t := range p.Threads {
		if v.Only != nil && !v.Only(t) {
			continue
		}
		one := *p
		one.Threads = p.Threads[i : i+1]
		name := names.name(t.TID, p.Role(t))
		for _, f := range files {
			if err := writeFile(in, name+f.Suffix, func(w io.Writer) error { return f.Write(&one, w, v) }); err != nil {
				return err
			}
		}
	}
	return writeFile(in, table, func(w io.Writer) error { return p.WriteThreadAnalysis(w, v) })
}

// folderPrefix is what the folder of a report's threads has before the report's name.
const folderPrefix = "multithread_"

// ThreadTable is the name of the table of all threads in a folder: that of the folder, without what a report puts before it.
func ThreadTable(dir string) string {
	return strings.TrimPrefix(filepath.Base(filepath.Clean(dir)), folderPrefix) + "_thread_analysis.txt"
}

func writeFile(in Folder, name string, write func(io.Writer) error) error {
	f, err := in.Create(name)
	if err != nil {
		return err
	}
	defer f.Abort()
	buffered := bufio.NewWriter(f)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return f.Commit()
}

// WriteThreadAnalysis is a table of the threads of a view: how long each one lived in the window, what it did, and how much of
// the window that covers; and the same of all together. Times are seconds.
func (p *Profile) WriteThreadAnalysis(w io.Writer, v View) error {
	out := bufio.NewWriter(w)
	all := p.breakDown(&v)
	window := p.window(&v)
	fmt.Fprint(out, "Wall-clock analysis by thread\n\n")
	line(out, "of", p.subject(&v))
	line(out, "threads", fmt.Sprint(all.threads))
	p.writeAbout(out, window)
	fmt.Fprintf(out, "\n%7s %-15s %9s %9s %9s %9s %9s %6s\n", "tid", "role", "lifetime", "on-CPU", "blocked", "delay", "idle", "cover")
	several := p.processes(&v) > 1
	for _, t := range p.Threads {
		if v.Only != nil && !v.Only(t) {
			continue
		}
		role := p.roleName(t)
		if several {
			role = p.Labels[t.Label].Process + ":" + role
		}
		var b breakdown
		b.add(p, t, &v)
		b.writeRow(out, fmt.Sprint(t.TID), role, window)
	}
	all.writeRow(out, "all", "", window)
	if missing := all.unknown.ns + all.leftOut; missing > 0 {
		fmt.Fprintln(out)
		wrapped(out, "", fmt.Sprintf("%s of the lifetimes are unknown, or times off the CPU that were left out as too short: in no column.", seconds(missing)))
	}
	all.writeCoverage(out, window, &p.About)
	p.writeCost(out)
	return out.Flush()
}

// processes is how many processes a view tells of.
func (p *Profile) processes(v *View) int {
	pids := make(map[int32]bool)
	for _, t := range p.Threads {
		if v.Only == nil || v.Only(t) {
			pids[t.PID] = true
		}
	}
	return len(pids)
}

func (b *breakdown) writeRow(w io.Writer, tid, role string, window int64) {
	s := func(ns int64) float64 { return float64(ns) / 1e9 }
	fmt.Fprintf(w, "%7s %-15s %9.3f %9.3f %9.3f %9.3f %9.3f %5.1f%%\n", tid, role,
		s(b.lifetime), s(b.onCPU.ns), s(b.blocked().ns), s(b.delay().ns), s(b.idle.ns), 100*b.coverage(window))
}
