//go:build !linux

package browser

import (
	"os/exec"
	"runtime"
)

// open opens a link in the user's browser. It reports whether there is one.
func open(link string) bool {
	cmd := exec.Command("open", link)
	if runtime.GOOS == "windows" {
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", link)
	}
	return cmd.Run() == nil
}
