// Package newfile makes files in folders that other users may write to, for the user who wants them.
package newfile

import (
	"os"
	"strconv"
)

// GiveToSudoUser makes the user who called sudo the owner, because who looks at a capture is not root.
func GiveToSudoUser(f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 31)
	if err != nil {
		return nil
	}
	group := -1
	if gid, err := strconv.ParseUint(os.Getenv("SUDO_GID"), 10, 31); err == nil {
		group = int(gid)
	}
	return f.Chown(int(uid), group)
}
