package flame

import (
	"bufio"
	"io"
	"path/filepath"
	"strings"

	"wprof/internal/flame/analysis"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// Folder makes files in a folder.
type Folder interface {
	// Create begins a file, which appears in the folder with its Commit.
	Create(name string) (File, error)
}

// File is a file that appears complete or not at all.
type File interface {
	io.Writer
	Commit() error
	Abort() // does nothing after Commit
}

// ThreadFile is a file that is written for each thread.
type ThreadFile struct {
	Suffix string // of its name: ".svg"
	// Write writes the file, for a profile that has only this thread.
	Write func(w io.Writer, p *profile.Profile, v graph.View) error
}

// writeThreadFiles writes the files of each thread of a view, thread_TID_ROLE and a suffix, and a table of all threads to the
// file called table.
func writeThreadFiles(p *profile.Profile, in Folder, table string, v graph.View, reports analysis.Reports, files ...ThreadFile) error {
	names := make(threadNames)
	for t := range v.Threads(p) {
		one := *p
		one.Threads = []*profile.Thread{t}
		name := names.name(t.TID, roleInName(p, t))
		for _, f := range files {
			if err := writeFile(in, name+f.Suffix, func(w io.Writer) error { return f.Write(w, &one, v) }); err != nil {
				return err
			}
		}
	}
	return writeFile(in, table, func(w io.Writer) error { return analysis.WriteThreads(w, p, v, reports) })
}

// folderPrefix comes before the report's name in the name of its folder.
const folderPrefix = "multithread_"

// ThreadTable returns the file name of the table of all threads in a folder, made of the folder's name without folderPrefix.
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
