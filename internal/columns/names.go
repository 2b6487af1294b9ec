package columns

import (
	"slices"

	"wprof/internal/records"
)

// Extension is the extension of file names.
const Extension = ".parquet"

// Names of the files that are not for a kind of event.
const (
	stacksName  = "stacks"
	framesName  = "frames"
	tasksName   = "tasks"
	sessionName = "session"
)

// Files returns the names of all files that are written.
func Files(o Options) []string {
	var names []string
	for _, k := range records.Kinds() {
		if o.has(&k) {
			names = append(names, k.Name+Extension)
		}
	}
	if !o.NoStacks {
		names = append(names, stacksName+Extension, framesName+Extension)
	}
	return append(names, tasksName+Extension, sessionName+Extension)
}

// has reports whether a kind has a file.
func (o *Options) has(k *records.KindInfo) bool {
	return k.IsAvailable() && (o.Kinds == nil || slices.Contains(o.Kinds, k.Kind))
}
