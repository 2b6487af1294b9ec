//go:build unix

package cli

import (
	"os"
	"strconv"
)

// giveToSudoUser makes the user who called sudo the owner, because who looks at a capture is not root.
func giveToSudoUser(f *os.File) error {
	if os.Geteuid() != 0 || os.Getenv("SUDO_UID") == "" {
		return nil
	}
	uid, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	if err != nil {
		return nil
	}
	gid, err := strconv.Atoi(os.Getenv("SUDO_GID"))
	if err != nil {
		gid = -1
	}
	return f.Chown(uid, gid)
}
