package flame

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"wprof/internal/cli"
	"wprof/internal/printable"
)

// report is what the names of a report's files begin with: all that there is to say about a capture, of all its threads
// together and of each. "" is none.
type report string

func (r report) svg() string      { return string(r) + ".svg" }
func (r report) folded() string   { return string(r) + ".folded" }
func (r report) analysis() string { return string(r) + "_single_thread_analysis.txt" }

// folder is for the files of each thread; ThreadTable names the table in it.
func (r report) folder() string {
	dir, base := filepath.Split(string(r))
	return strings.TrimPrefix(dir, "./") + folderPrefix + base
}

// outputs are the files of all threads together, and the summary that says which there are.
func (r report) outputs() []output {
	return []output{{form: formReport}, {formSVG, r.svg()}, {formFolded, r.folded()}, {formAnalysis, r.analysis()}}
}

// check refuses what names cannot begin with.
func (r report) check() error {
	switch _, base := filepath.Split(string(r)); base {
	case "", ".", "..":
		return cli.Usagef("--report %s is no beginning of file names; give one, such as --report /tmp/slow", string(r))
	}
	return nil
}

// hasFolder tells whether the folder is there. A link to one is an error: files are removed from the folder.
func (r report) hasFolder() (bool, error) {
	info, err := os.Lstat(r.folder())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, cli.Failf("write the files of threads: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return false, cli.Failf("write %s: it is a link, which is not followed; remove it, or name another --report", r.folder())
	case !info.IsDir():
		return false, cli.Failf("write %s: it is no folder; remove it, or name another --report", r.folder())
	}
	return true, nil
}

// isThreadFile matches what WriteThreads calls the files of threads.
func isThreadFile() func(name string) bool {
	return regexp.MustCompile(`^thread_[0-9]+_[-a-zA-Z0-9_+.]+(\.svg|\.folded|_analysis\.txt)$`).MatchString
}

// writeReportFolder writes the files of each thread, if there are several. Those of an earlier report's threads, which have
// other names, are removed in any case.
func (q *request) writeReportFolder(inv *cli.Invocation, p *Profile) error {
	isThere, err := q.report.hasFolder()
	several := len(p.Threads) > 1
	if err != nil || !several && !isThere {
		return err
	}
	folder, err := inv.CreateFolder(q.folder)
	if err != nil {
		return err
	}
	if err := folder.RemoveFiles(isThreadFile()); err != nil {
		inv.Warnf("files of an earlier recording's threads are still in %s: %v", q.folder, err)
	}
	if !several {
		return nil
	}
	return q.writeThreads(folder, p)
}

// summary says what the report comes to, and which files it has. The files that were read are among them, because a report
// is kept together with its capture.
func (q *request) summary(inv *cli.Invocation, p *Profile) string {
	var b strings.Builder
	all := p.breakDown(&q.view)
	all.writeReading(&b, p.window(&q.view), &p.About)
	fmt.Fprintln(&b)
	width := utf8.RuneCountInString(printable.Text(q.report.analysis()))
	row := func(path, what string) { fmt.Fprintf(&b, "  %-*s  %s\n", width, printable.Text(path), what) }
	row(q.report.svg(), "flame graph, for a browser")
	row(q.report.folded(), "the same as folded stacks")
	row(q.report.analysis(), "figures, and the longest waits")
	if all.threads > 1 {
		row(q.report.folder()+"/", fmt.Sprintf("the same of each of %d threads", all.threads))
	}
	for _, path := range inv.Args {
		if path != "-" {
			row(path, "what was recorded")
		}
	}
	return b.String()
}
