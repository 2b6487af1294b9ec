package pytrace

import "time"

// Options are which calls are recorded. What is left out counts as the caller's own time.
type Options struct {
	Min     time.Duration // shorter calls are left out
	Modules []string      // globs; ! before one: not these. None: all
}

// MaxGlobs bounds the globs on modules: their characters, with two more for each.
const MaxGlobs = 254
