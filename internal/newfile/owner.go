// Package newfile makes files in folders that other users may write to, for the user who wants them.
package newfile

import (
	"os"
	"strconv"
)

// GiveToSudoUser makes the user who called sudo the owner, because who looks at a capture is not root.
func GiveToSudoUser(f *os.File) error {
	user, group, isSudo := sudoUser()
	if !isSudo {
		return nil
	}
	return f.Chown(user, group)
}

// sudoUser is who called sudo, if somebody did; a group of -1 is not known.
func sudoUser() (user, group int, isSudo bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 31)
	if err != nil {
		return 0, 0, false
	}
	group = -1
	if gid, err := strconv.ParseUint(os.Getenv("SUDO_GID"), 10, 31); err == nil {
		group = int(gid)
	}
	return int(uid), group, true
}
