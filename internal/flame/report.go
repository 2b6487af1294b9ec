package flame

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"wprof/internal/cli"
	"wprof/internal/flame/analysis"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/printable"
)

// reportPrefix is the path prefix of a report's files; "": no report.
type reportPrefix string

func (r reportPrefix) svg() string      { return string(r) + ".svg" }
func (r reportPrefix) folded() string   { return string(r) + ".folded" }
func (r reportPrefix) analysis() string { return string(r) + "_single_thread_analysis.txt" }

// folder is for the files of each thread; ThreadTable names the table in it.
func (r reportPrefix) folder() string {
	dir, base := filepath.Split(string(r))
	return strings.TrimPrefix(dir, "./") + folderPrefix + base
}

// outputs lists the summary and the files for all threads together.
func (r reportPrefix) outputs() []output {
	return []output{{form: formReport}, {form: formSVG, path: r.svg()}, {form: formFolded, path: r.folded()}, {form: formAnalysis, path: r.analysis()}}
}

// check rejects a prefix that file names cannot begin with.
func (r reportPrefix) check() error {
	switch _, base := filepath.Split(string(r)); base {
	case "", ".", "..":
		return cli.Usagef("--report %s: not a file name prefix; give one such as --report /tmp/slow", string(r))
	}
	if strings.ContainsFunc(string(r), unicode.IsControl) {
		return cli.Usagef("--report %s: it has a line break or another control character; give a prefix without", printable.Text(string(r)))
	}
	if info, err := os.Stat(string(r)); err == nil && info.IsDir() {
		return cli.Usagef("--report %s: it is a folder; give a file name prefix in it, such as %[1]s/slow", string(r))
	}
	return nil
}

// hasFolder reports whether the folder exists. A link to one is an error: files are removed from the folder.
func (r reportPrefix) hasFolder() (bool, error) {
	info, err := os.Lstat(r.folder())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, cli.Failf("write the files of threads: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return false, cli.Failf("write %s: it is a symbolic link; remove it or choose another --report", r.folder())
	case !info.IsDir():
		return false, cli.Failf("write %s: it is not a folder; remove it or choose another --report", r.folder())
	}
	return true, nil
}

// isThreadFile returns a function that matches the names of files that writeThreadFiles writes.
func isThreadFile() func(name string) bool {
	return regexp.MustCompile(`^thread_[0-9]+_[-a-zA-Z0-9_+.]+(\.svg|\.folded|_analysis\.txt)$`).MatchString
}

// writeReport writes the outputs of a report. The summary comes last, when all files that it lists exist.
func (q *request) writeReport(inv *cli.Invocation, p *profile.Profile, outs outputs) error {
	if err := q.writeForms(p, outs); err != nil {
		return err
	}
	if err := q.writeReportFolder(inv, p); err != nil {
		return err
	}
	summary := q.summary(inv, p)
	if err := q.writePictures(inv, p, outs); err != nil {
		return err
	}
	out := outs[slices.IndexFunc(q.outputs, func(o output) bool { return o.form == formReport })]
	_, err := io.WriteString(out, summary)
	return commitOutput(out, err)
}

// countThreads returns the number of threads of a view. If there are several, a report has a folder for them.
func countThreads(p *profile.Profile, v *graph.View) (n int) {
	for range v.Threads(p) {
		n++
	}
	return n
}

// writeReportFolder writes the files of each thread if there are several threads. It first deletes those of an earlier report,
// which has other threads.
func (q *request) writeReportFolder(inv *cli.Invocation, p *profile.Profile) error {
	exists, err := q.report.hasFolder()
	several := countThreads(p, &q.view) > 1
	if err != nil || !several && !exists {
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

// summary returns the text that --report prints: coverage, and the files. The input is listed too, because the report is kept with
// its capture.
func (q *request) summary(inv *cli.Invocation, p *profile.Profile) string {
	var b strings.Builder
	analysis.WriteCoverage(&b, q.reports.Report())
	fmt.Fprintln(&b)
	width := utf8.RuneCountInString(printable.Text(q.report.analysis()))
	row := func(path, what string) { fmt.Fprintf(&b, "  %-*s  %s\n", width, printable.Text(path), what) }
	row(q.report.svg(), "flame graph, for a browser")
	row(q.report.folded(), "the same as folded stacks")
	row(q.report.analysis(), "figures, and the longest waits")
	if n := countThreads(p, &q.view); n > 1 {
		row(q.report.folder()+"/", fmt.Sprintf("the same for each of %d threads", n))
	}
	for _, path := range inv.Args {
		if path != "-" {
			row(path, "what was recorded")
		}
	}
	return b.String()
}
