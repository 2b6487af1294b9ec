// Package newfile makes files in folders that other users may write to, and gives them to the user who called sudo.
package newfile

import (
	"os"
	"strconv"
)

// GiveToSudoUser makes the user who called sudo the owner, because captures are rarely read as root.
func GiveToSudoUser(f *os.File) error {
	user, group, isSudo := sudoUser()
	if !isSudo {
		return nil
	}
	return f.Chown(user, group)
}

// sudoUser is the user who called sudo, if any; group -1: unknown.
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
