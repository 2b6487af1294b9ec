package proc

import (
	"runtime/debug"
)

// Version is the version of the tool that runs, as the Go linker noted it: the module's, else the commit's.
func Version() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := build.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, modified := "", ""
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			revision = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				modified = "+changes"
			}
		}
	}
	if revision == "" {
		return "devel"
	}
	if len(revision) > 12 {
		revision = revision[:12]
	}
	return revision + modified
}
