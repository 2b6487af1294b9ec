package tracepoint

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"wprof/internal/tracefs"
)

// TestEveryTracepointOfThisKernelIsParsed compares the fields with the lines of the files, and the tables with the entries in the print
// formats: nearly all of them can be read.
func TestEveryTracepointOfThisKernelIsParsed(t *testing.T) {
	fs, err := tracefs.Open()
	if err != nil {
		t.Skipf("tracefs cannot be mounted: %v", err)
	}
	defer fs.Close()
	events, err := fs.Events()
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^\tfield:(.*?)(\w+)(\[[^;]*\])?;\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d)`)
	entry := regexp.MustCompile(`\{ [^{}"]+, "`)
	entries, named := 0, 0
	for _, name := range events {
		text, err := fs.Format(name)
		if err != nil {
			t.Error(err) // one of a module that was unloaded meanwhile
			continue
		}
		group, bare, _ := strings.Cut(name, ":")
		of, err := Parse(group, text, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if of.FullName() != name || string(of.Def.Name) != name || !strings.Contains(string(text), "name: "+bare+"\nID: "+strconv.Itoa(of.ID)+"\n") {
			t.Errorf("%s is read as %s, %q, %d", name, of.FullName(), of.Def.Name, of.ID)
		}
		next := 0
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			offset, _ := strconv.Atoi(m[4])
			if offset < commonFields || of.isSyscall() && strings.HasPrefix(m[1], dataLoc) {
				continue
			}
			if next == len(of.Places) {
				t.Errorf("%s has no field %s", name, m[2])
				break
			}
			if got := string(of.Def.Fields[next].Name); got != m[2] || of.Places[next].Offset+commonFields != offset {
				t.Errorf("%s: field %s at %d, want %s at %d", name, got, of.Places[next].Offset+commonFields, m[2], offset)
			}
			next++
		}
		if next != len(of.Places) {
			t.Errorf("%s has %d fields, want %d", name, len(of.Places), next)
		}
		entries += len(entry.FindAllString(of.Print, -1))
		for _, f := range of.Def.Fields {
			named += len(f.Names)
		}
	}
	t.Logf("%d tracepoints; %d of %d entries of tables have a number here", len(events), named, entries)
	if len(events) < 100 || named < entries/2 {
		t.Errorf("%d tracepoints, with %d of %d entries of tables", len(events), named, entries)
	}
}
