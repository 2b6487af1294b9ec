package browser

import (
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// open opens a link in the browser of the user who called sudo, or else of this one, but not as root. It reports whether there is one.
func open(link string) bool {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" && os.Getenv("BROWSER") == "" {
		return false // xdg-open would take the terminal for a browser without windows
	}
	path, err := exec.LookPath("xdg-open")
	if err != nil {
		return false
	}
	cmd := exec.Command(path, link)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C does not reach it
	if os.Geteuid() == 0 && !becomeCaller(cmd) || cmd.Start() != nil {
		return false
	}
	go func() { _ = cmd.Wait() }()
	return true
}

// becomeCaller makes a command run as the user who called sudo. It returns false if there is none.
func becomeCaller(cmd *exec.Cmd) bool {
	caller, err := user.LookupId(os.Getenv("SUDO_UID"))
	if err != nil || caller.Uid == "0" {
		return false
	}
	uid, err := strconv.ParseUint(caller.Uid, 10, 32)
	if err != nil {
		return false
	}
	gid, err := strconv.ParseUint(caller.Gid, 10, 32)
	if err != nil {
		return false
	}
	groups, err := caller.GroupIds()
	if err != nil {
		return false
	}
	credential := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	for _, text := range groups {
		if group, err := strconv.ParseUint(text, 10, 32); err == nil {
			credential.Groups = append(credential.Groups, uint32(group))
		}
	}
	cmd.SysProcAttr.Credential = credential
	cmd.Dir = "/"
	cmd.Env = callerEnvironment(caller)
	return true
}

// callerEnvironment is the environment with what a desktop needs of the user who called sudo.
func callerEnvironment(caller *user.User) []string {
	runtime := "/run/user/" + caller.Uid
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "SUDO_") })
	return append(env, "HOME="+caller.HomeDir, "USER="+caller.Username, "LOGNAME="+caller.Username,
		"XDG_RUNTIME_DIR="+runtime, "DBUS_SESSION_BUS_ADDRESS=unix:path="+runtime+"/bus")
}
