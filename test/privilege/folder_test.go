//go:build linux

package privilege

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

// folderTools write files into a folder.
var folderTools = [][]string{{"wprof-json", "--parquet"}, {"wprof-flame", "--per-thread"}}

func smallCapture(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	text := `section id=0x1 host="box" boot_id="b" open=1000 close=+1s
  cpu 0
task 1 comm="swapper" process_comm="swapper" flags=idle
task 2 tid=100 pid=100 ppid=1 comm="work" process_comm="work" start=5
+0 cpu0 state_cpu 1 prio=120
+0 cpu0 state_thread 2 state=S prio=120
+100ms cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120
end close=+1s
`
	must(t, os.WriteFile(filepath.Join(dir, "text"), []byte(text), 0o600))
	return tools.Convert(t, filepath.Join(dir, "c.wprof"), "wprof-info", "--undump", filepath.Join(dir, "text"))
}

// TestNoLinkToAFolderIsFollowedInASharedFolder: where other users may create links, only the user's own links are followed.
func TestNoLinkToAFolderIsFollowedInASharedFolder(t *testing.T) {
	tools.NeedPrivilege(t)
	capture := smallCapture(t)
	for _, tool := range folderTools {
		// Not a sticky one: there the kernel itself may refuse to follow links.
		shared, victim, out := open(t, 0o777), t.TempDir(), "out"
		at := filepath.Join(shared, out)
		must(t, os.Symlink(victim, at))
		must(t, os.Lchown(at, nobody, nobody))
		e := run(t, asRoot(0, tool[0], tool[1], at, capture))
		if said := e.stderr.String(); e.status != 1 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "another user's symbolic link") {
			t.Errorf("%v: status %d: %s", tool, e.status, said)
		}
		if left := names(t, victim); len(left) > 0 {
			t.Errorf("%v wrote %v through the link", tool, left)
		}
		for _, owner := range []int{0, sudoUser} {
			must(t, os.Lchown(at, owner, owner))
			if e := run(t, asRoot(0, tool[0], tool[1], at, capture)); e.status != 0 || len(names(t, victim)) == 0 {
				t.Errorf("%v through a link of user %d: status %d, %v: %s", tool, owner, e.status, names(t, victim), e.stderr.String())
			}
			must(t, os.RemoveAll(victim))
			must(t, os.Mkdir(victim, 0o700))
		}
	}
}

// TestFolderReplacedByALinkMeanwhile: files are written into the folder that was created, wherever it has been moved.
func TestFolderReplacedByALinkMeanwhile(t *testing.T) {
	tools.NeedPrivilege(t)
	stream, err := os.ReadFile(smallCapture(t))
	must(t, err)
	shared, victim := open(t, 0o777), t.TempDir()
	at, aside := filepath.Join(shared, "out"), filepath.Join(shared, "aside")
	cmd := asRoot(0, "wprof-json", "--parquet", at)
	in, err := cmd.StdinPipe()
	must(t, err)
	go func() {
		defer in.Close()
		_, _ = in.Write(stream[:len(stream)-10])
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if os.Rename(at, aside) == nil {
				_ = os.Symlink(victim, at)
				break
			}
		}
		_, _ = in.Write(stream[len(stream)-10:])
	}()
	e := run(t, cmd)
	atOnce := e.status == 1 && strings.Contains(e.stderr.String(), "replaced it while")
	if e.status != 0 && !atOnce {
		t.Errorf("status %d: %s", e.status, e.stderr.String())
	}
	if left := names(t, victim); len(left) > 0 {
		t.Errorf("%v were written through the link", left)
	}
	if left := names(t, aside); len(left) == 0 && !atOnce {
		t.Error("the folder that was made is empty")
	}
}
