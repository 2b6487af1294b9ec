//go:build !linux

package symbol

import (
	"os"

	"wprof/format"
)

const openFlags = 0

// sameFile is false: without a build-id a file is known only on the machine that it was mapped on.
func sameFile(*os.File, *format.Module) bool { return false }
