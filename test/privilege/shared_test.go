//go:build linux

package privilege

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// sudoUser and sudoGroup are who called sudo in these tests.
const (
	sudoUser  = 1234
	sudoGroup = 4321
)

// asRoot runs a tool as root for the user behind sudo, with a umask.
func asRoot(umask int, tool string, args ...string) *exec.Cmd {
	cmd := exec.Command("sh", append([]string{"-c", `umask "$0" && exec "$@"`, "0" + strconv.FormatInt(int64(umask), 8), tools.Path(tool)}, args...)...)
	cmd.Env = append(os.Environ(), "SUDO_UID="+strconv.Itoa(sudoUser), "SUDO_GID="+strconv.Itoa(sudoGroup))
	return cmd
}

// names are those of a folder's files.
func names(t testing.TB, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// mine makes a file of the attacker's, or of the victim's.
func mine(t testing.TB, path, text string, user int) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
	must(t, os.Chown(path, user, user))
}

const precious = "precious"

// TestNoLinkIsFollowedInASharedFolder lays traps at the names that a recorder uses in a folder like /tmp.
func TestNoLinkIsFollowedInASharedFolder(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, trap := range []struct {
		name string
		lay  func(t *testing.T, victim, at string)
	}{
		{"a symbolic link", func(t *testing.T, victim, at string) {
			must(t, os.Symlink(victim, at))
			must(t, os.Lchown(at, nobody, nobody))
		}},
		{"a link to nothing", func(t *testing.T, victim, at string) { must(t, os.Symlink(victim+".new", at)) }},
		{"a hard link", func(t *testing.T, victim, at string) { must(t, os.Link(victim, at)) }},
		{"a file", func(t *testing.T, _, at string) { mine(t, at, "a trap", nobody) }},
	} {
		for _, where := range []string{"x.wprof", "x.wprof.part", "x.wprof.part.1"} {
			t.Run(trap.name+" at "+where, func(t *testing.T) {
				t.Parallel()
				folder, private := open(t, 0o777|os.ModeSticky), t.TempDir()
				// A hard link needs the same file system.
				victim := filepath.Join(folder, "victim")
				mine(t, victim, precious, 0)
				file := filepath.Join(folder, "x.wprof")
				trap.lay(t, victim, filepath.Join(folder, where))
				if where == "x.wprof.part.1" {
					mine(t, file+".part", "what was there before", nobody)
				}
				e := run(t, asRoot(0, "wprof-record", "-d200ms", "-o", file))
				if e.status != 0 {
					t.Errorf("status %d: %s", e.status, e.stderr.String())
				}
				captured(t, file)
				untouched(t, victim)
				if _, err := os.Lstat(victim + ".new"); err == nil {
					t.Error("the link to nothing was followed")
				}
				want := []string{"victim", "x.wprof"}
				switch where {
				case "x.wprof.part":
					want = append(want, "x.wprof.part.1")
				case "x.wprof.part.1":
					want = append(want, "x.wprof.part.1", "x.wprof.part.2")
				}
				if left := names(t, folder); !slices.Equal(left, want) {
					t.Errorf("the folder holds %v, want %v", left, want)
				}
				// The others write the same way.
				out := filepath.Join(private, "out")
				trap.lay(t, victim, out)
				for _, tool := range []string{"wprof-filter", "wprof-symbolize", "wprof-perfetto", "wprof-flame", "wprof-json"} {
					if e := run(t, asRoot(0, tool, file, "-o", out)); e.status != 0 {
						t.Errorf("%s: status %d: %s", tool, e.status, e.stderr.String())
					}
					captured(t, out)
				}
				untouched(t, victim)
			})
		}
	}
}

// captured checks an output of root's for the user behind sudo.
func captured(t testing.TB, file string) {
	t.Helper()
	var stat unix.Stat_t
	must(t, unix.Lstat(file, &stat))
	if stat.Mode != unix.S_IFREG|0o600 || stat.Uid != sudoUser || stat.Gid != sudoGroup || stat.Nlink != 1 || stat.Size < 100 {
		t.Errorf("%s has mode %o, %d links, %d bytes and belongs to %d:%d", file, stat.Mode, stat.Nlink, stat.Size, stat.Uid, stat.Gid)
	}
}

func untouched(t testing.TB, victim string) {
	t.Helper()
	var stat unix.Stat_t
	must(t, unix.Lstat(victim, &stat))
	if text, err := os.ReadFile(victim); string(text) != precious || stat.Uid != 0 || stat.Mode != unix.S_IFREG|0o644 {
		t.Errorf("the file behind the link has mode %o, belongs to %d and holds %.20q, %v", stat.Mode, stat.Uid, text, err)
	}
}

// TestModeAndOwnerWhateverTheUmask looks at a spool while it is written, and at the finished capture.
func TestModeAndOwnerWhateverTheUmask(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, umask := range []int{0, 0o22, 0o277, 0o777} {
		t.Run(strconv.FormatInt(int64(umask), 8), func(t *testing.T) {
			t.Parallel()
			folder := open(t, 0o777|os.ModeSticky)
			file := filepath.Join(folder, "x.wprof")
			cmd := asRoot(umask, "wprof-record", "-d60s", "-o", file)
			must(t, cmd.Start())
			late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			for info, err := os.Lstat(file + ".part"); err != nil || info.Size() < 100; info, err = os.Lstat(file + ".part") {
				time.Sleep(time.Millisecond)
			}
			captured(t, file+".part")
			must(t, cmd.Process.Signal(unix.SIGINT))
			_ = cmd.Wait()
			if !late.Stop() || cmd.ProcessState.ExitCode() != 0 {
				t.Errorf("the recorder ended with %v", cmd.ProcessState)
			}
			captured(t, file)
			if left := names(t, folder); len(left) != 1 {
				t.Errorf("the folder holds %v", left)
			}
		})
	}
}

// TestNamesReplacedMeanwhile has an attacker replace the files at the names again and again while root writes there.
func TestNamesReplacedMeanwhile(t *testing.T) {
	tools.NeedPrivilege(t)
	folder := open(t, 0o777|os.ModeSticky)
	victim := filepath.Join(folder, "victim")
	mine(t, victim, precious, 0)
	file := filepath.Join(folder, "x.wprof")
	attack := exec.Command("sh", "-c", `cd "$0"; while :; do
		for name in x.wprof x.wprof.part out; do
			ln -s victim $name; rm -f $name; mkdir $name; rmdir $name; ln victim $name; rm -f $name; : > $name; rm -f $name
		done; done 2>/dev/null`, folder)
	attack.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Setpgid: true}
	must(t, attack.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-attack.Process.Pid, syscall.SIGKILL)
		_ = attack.Wait()
	})
	good := filepath.Join(t.TempDir(), "good")
	must(t, os.WriteFile(good, tools.Run(t, "wprof-record", "-d100ms"), 0o600))
	written := 0
	for n := range 40 {
		cmd := asRoot(0, "wprof-filter", good, "-o", filepath.Join(folder, "out"))
		if n%10 == 0 {
			cmd = asRoot(0, "wprof-record", "-d20ms", "-o", file)
		}
		e := run(t, cmd)
		switch said := e.stderr.String(); {
		case e.status == 0:
			written++
		case e.status == 1 && said != "":
		default:
			t.Errorf("status %d: %s", e.status, said)
		}
		untouched(t, victim)
	}
	if written == 0 {
		t.Error("no run has come to its end")
	}
}

// TestFolderOfAnotherUser: what cannot be written is found before anything is attached.
func TestFolderOfAnotherUser(t *testing.T) {
	tools.NeedPrivilege(t)
	tool := capable(t, documented(t))
	folder, sticky := open(t, 0o755), open(t, 0o777|os.ModeSticky)
	mine(t, filepath.Join(sticky, "x.wprof"), precious, 0)
	mine(t, filepath.Join(sticky, "y.wprof.part"), precious, 0)
	for file, words := range map[string][]string{
		filepath.Join(folder, "x.wprof"): {"permission denied", "choose a folder that you may write to"},
		filepath.Join(sticky, "x.wprof"): {"it belongs to another user"},
		filepath.Join(sticky, "y.wprof"): {"y.wprof.part", "operation not permitted", "choose another output"},
	} {
		e := run(t, asNobody(exec.Command(tool, "-d50ms", "-o", file)))
		said := e.stderr.String()
		if e.status != 1 || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: status %d: %s", file, e.status, said)
		}
		for _, word := range words {
			if !strings.Contains(said, word) {
				t.Errorf("%s: it says %q, want a word about %q", file, said, word)
			}
		}
	}
	alone(t, folder, false)
	untouched(t, filepath.Join(sticky, "x.wprof"))
	untouched(t, filepath.Join(sticky, "y.wprof.part"))
	if left := names(t, sticky); len(left) != 2 {
		t.Errorf("the folder holds %v", left)
	}
}

// TestFIFOsAndDevicesAreWrittenInPlace, also a FIFO of another user in a folder like /tmp, and there is no spool beside it.
func TestFIFOsAndDevicesAreWrittenInPlace(t *testing.T) {
	tools.NeedPrivilege(t)
	folder := open(t, 0o777|os.ModeSticky)
	fifo := filepath.Join(folder, "fifo")
	must(t, unix.Mkfifo(fifo, 0o622))
	must(t, os.Chown(fifo, nobody, nobody))
	read := make(chan int)
	go func() {
		f, err := os.Open(fifo)
		if err != nil {
			read <- 0
			return
		}
		defer f.Close()
		total := 0
		for _, n := range counts(t, f) {
			total += n
		}
		read <- total
	}()
	if e := run(t, asRoot(0o22, "wprof-record", "-d200ms", "-o", fifo)); e.status != 0 {
		t.Errorf("status %d: %s", e.status, e.stderr.String())
	}
	if n := <-read; n < 10 {
		t.Errorf("%d events came through the FIFO", n)
	}
	if left := names(t, folder); !slices.Equal(left, []string{"fifo"}) {
		t.Errorf("the folder holds %v", left)
	}
	var stat unix.Stat_t
	must(t, unix.Stat(fifo, &stat))
	if stat.Uid != nobody {
		t.Errorf("the FIFO belongs to %d", stat.Uid)
	}
	if e := run(t, asRoot(0o22, "wprof-record", "-d50ms", "-o", "/dev/null")); e.status != 0 {
		t.Errorf("to /dev/null: status %d: %s", e.status, e.stderr.String())
	}
	if _, err := os.Stat("/dev/null.part"); err == nil {
		t.Error("there is a spool in /dev")
	}
}
