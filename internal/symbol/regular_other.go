//go:build !linux

package symbol

import (
	"os"

	"wprof/format"
)

const openFlags = 0

// sameFile returns false: without a build-id a file is identified only on the machine that it was mapped on.
func sameFile(*os.File, *format.Module) bool { return false }
