//go:build linux

package open

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/test/engine"
	"wprof/test/fromtext"
	"wprof/test/page"
	"wprof/test/tools"
)

func TestMain(m *testing.M) { tools.Main(m) }

// capture has two threads that take turns on a CPU.
const capture = `
section host=box boot_id=b kernel_release=6.18.0 open=1000000000 close=+10000000
  cpu 0
  clock monotonic=1000000000 boottime=1000000000 realtime=1700000000000000000
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=ping
task 3 tid=101 pid=101 comm=pong
+0 cpu0 state_cpu 1 since=+0
+1ms cpu0 switch 1 next=2
+4ms cpu0 switch 2 prev_state=1 next=3
+9ms cpu0 switch 3 prev_state=1 next=1
end close=+10000000
`

// showing is a tool that waits for its page to be fetched.
type showing struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr tools.Buffer
	temp   string // where it makes temporary files
}

// show starts a tool with --open and waits for its link. Other tools may have the port of ui.perfetto.dev for a while.
func show(t *testing.T, env []string, tool string, args ...string) (s *showing, link string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		s = &showing{t: t, cmd: exec.Command(tools.Path(tool), append([]string{"--open"}, args...)...), temp: t.TempDir()}
		if err := os.Chmod(s.temp, 0o755); err != nil {
			t.Fatal(err)
		}
		s.cmd.Env = append(append(os.Environ(), "TMPDIR="+s.temp, "DISPLAY=", "WAYLAND_DISPLAY=", "BROWSER="), env...)
		s.cmd.Stderr = &s.stderr
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmd := s.cmd
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		shown := regexp.MustCompile(`the page is (\S+?);? `)
		for {
			if m := shown.FindStringSubmatch(strings.ReplaceAll(s.stderr.String(), "\n", " ")); m != nil {
				return s, m[1]
			}
			if strings.Contains(s.stderr.String(), "address already in use") && time.Now().Before(end) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%v shows no link: %s", s.cmd.Args, s.stderr.String())
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// wait returns the exit status, after which no temporary file may be left.
func (s *showing) wait() int {
	s.t.Helper()
	late := time.AfterFunc(2*time.Minute, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Wait()
	if left, _ := filepath.Glob(s.temp + "/*"); len(left) > 0 {
		s.t.Errorf("%v leaves %q", s.cmd.Args, left)
	}
	return tools.Status(s.cmd.ProcessState)
}

// served is the address of the file in a link.
func served(link string) string { return link[strings.LastIndex(link, "http://"):] }

func written(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "two hands.wprof")
	if err := os.WriteFile(file, fromtext.Stream(t, capture), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Perfetto's own interface, under its own address, fetches the trace once, and the tool ends.
func TestPerfettoShowsTheTrace(t *testing.T) {
	engine.Need(t)
	site := httptest.NewTLSServer(http.FileServer(http.Dir("../../build/engine")))
	defer site.Close()
	s, link := show(t, nil, "wprof-perfetto", written(t))
	if !regexp.MustCompile(`^https://ui\.perfetto\.dev/#!/\?url=http://127\.0\.0\.1:9001/[A-Z0-9]{16}/two%20hands\.pb$`).MatchString(link) {
		t.Errorf("the link is %s", link)
	}
	p := page.OpenWith(t, link, "--ignore-certificate-errors", "--host-resolver-rules=MAP ui.perfetto.dev:443 "+site.Listener.Addr().String())
	p.Wait(`location.hash.startsWith('#!/viewer') && window.app?.trace?.engine`)
	if status := s.wait(); status != 0 {
		t.Errorf("status %d: %s", status, s.stderr.String())
	}
	slices := p.Text(`(async () => {
		const result = await app.trace.engine.query("select thread.name, dur from sched join thread using (utid) where tid != 0 order by ts");
		const all = [];
		for (const it = result.iter({}); it.valid(); it.next()) all.push(it.get('name') + ' ' + it.get('dur'));
		return all.join(', ');
	})()`)
	if want := "ping 3000000, pong 5000000"; slices != want {
		t.Errorf("the interface has %q, want %q", slices, want)
	}
	if title := p.Text(`app.trace.traceInfo.traceTitle`); !strings.Contains(title, "two hands.pb") {
		t.Errorf("the trace is called %q", title)
	}
}

func TestFlameShowsItsPage(t *testing.T) {
	s, link := show(t, nil, "wprof-flame", written(t))
	p := page.OpenURL(t, link)
	p.Wait(`document.title.includes('box') && document.body.innerText.includes('ping')`)
	if errors := p.ConsoleErrors(); len(errors) > 0 {
		t.Errorf("the browser logs %q", errors)
	}
	if status := s.wait(); status != 0 {
		t.Errorf("status %d: %s", status, s.stderr.String())
	}
}

func TestFlameShowsAPageOrAPicture(t *testing.T) {
	for _, c := range []struct {
		flags      []string
		head, kind string
	}{
		{nil, "<!DOCTYPE html>", "text/html; charset=utf-8"}, {[]string{"--html"}, "<!DOCTYPE html>", "text/html; charset=utf-8"}, {[]string{"--svg"}, "<?xml", "image/svg+xml"},
		{[]string{"--folded=" + filepath.Join(t.TempDir(), "x.folded")}, "<!DOCTYPE html>", "text/html; charset=utf-8"}, {[]string{"--folded"}, "<!DOCTYPE html>", "text/html; charset=utf-8"},
		{[]string{"--start", "5ms", "--diff-end", "5ms"}, "<?xml", "image/svg+xml"},
	} {
		s, link := show(t, nil, "wprof-flame", append(c.flags, written(t))...)
		r := get(t, link, func(*http.Request) {})
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.HasPrefix(string(body), c.head) || r.Header.Get("Content-Type") != c.kind {
			t.Errorf("%q: it serves %.20q, %v, as %s; want %q", c.flags, body, err, r.Header.Get("Content-Type"), c.head)
		}
		if status := s.wait(); status != 0 {
			t.Errorf("%q: status %d: %s", c.flags, status, s.stderr.String())
		}
	}
}

// get requests the file as a page of that origin does, but for what change does to the request.
func get(t *testing.T, address string, change func(*http.Request)) *http.Response {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Origin", "https://ui.perfetto.dev")
	change(request)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// Only the whole file, at its address, ends it: nothing else of the machine, and no page whose name leads here.
func TestOnlyTheFileIsServedAndOnlyOnce(t *testing.T) {
	file := written(t)
	s, link := show(t, nil, "wprof-perfetto", file)
	address := served(link)
	for what, change := range map[string]func(*http.Request){
		"another path":   func(r *http.Request) { r.URL.Path = "/trace.pb" },
		"a path above":   func(r *http.Request) { r.URL.Path += "/../../../etc/passwd" },
		"another name":   func(r *http.Request) { r.Host = "evil.example:9001" },
		"another method": func(r *http.Request) { r.Method = http.MethodPost },
	} {
		if r := get(t, address, change); r.StatusCode < 400 {
			t.Errorf("%s has status %d", what, r.StatusCode)
		}
	}
	preflight := get(t, address, func(r *http.Request) { r.Method = http.MethodOptions })
	if preflight.StatusCode != http.StatusNoContent || preflight.Header.Get("Access-Control-Allow-Private-Network") != "true" {
		t.Errorf("before its request a page gets %d, %v", preflight.StatusCode, preflight.Header)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	half, err := net.Dial("tcp", u.Host) // a browser that goes away
	if err != nil {
		t.Fatal(err)
	}
	_ = half.Close()
	time.Sleep(200 * time.Millisecond)
	if syscall.Kill(s.cmd.Process.Pid, 0) != nil || s.cmd.ProcessState != nil {
		t.Fatalf("it has ended: %s", s.stderr.String())
	}
	r := get(t, address, func(*http.Request) {})
	body, err := io.ReadAll(r.Body)
	want := tools.Run(t, "wprof-perfetto", file)
	if err != nil || !bytes.Equal(body, want) || r.Header.Get("Access-Control-Allow-Origin") != "https://ui.perfetto.dev" {
		t.Errorf("it serves %d bytes, want %d, %v, with %v", len(body), len(want), err, r.Header)
	}
	if status := s.wait(); status != 0 {
		t.Errorf("status %d: %s", status, s.stderr.String())
	}
}

func TestOutputWithANameIsKept(t *testing.T) {
	file, out := written(t), filepath.Join(t.TempDir(), "kept.html")
	s, link := show(t, nil, "wprof-flame", "-o", out, file)
	if !strings.HasSuffix(link, "/kept.html") {
		t.Errorf("the link is %s", link)
	}
	body, err := io.ReadAll(get(t, link, func(*http.Request) {}).Body)
	if kept, _ := os.ReadFile(out); err != nil || len(body) == 0 || !bytes.Equal(body, kept) {
		t.Errorf("%d bytes are served and %d kept, %v", len(body), len(kept), err)
	}
	if status := s.wait(); status != 0 {
		t.Errorf("status %d: %s", status, s.stderr.String())
	}
}

// A damaged capture is shown as far as it goes, and has its exit status; a signal ends the waiting.
func TestExitStatusAfterShowing(t *testing.T) {
	cut := filepath.Join(t.TempDir(), "cut.wprof")
	stream := fromtext.Stream(t, capture)
	if err := os.WriteFile(cut, stream[:len(stream)-30], 0o600); err != nil {
		t.Fatal(err)
	}
	s, link := show(t, nil, "wprof-flame", cut)
	_, _ = io.Copy(io.Discard, get(t, link, func(*http.Request) {}).Body)
	if status := s.wait(); status != 4 || !strings.Contains(s.stderr.String(), "is damaged") {
		t.Errorf("of a damaged capture the status is %d: %s", status, s.stderr.String())
	}
	s, _ = show(t, nil, "wprof-perfetto", written(t))
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	if status := s.wait(); status != 1 || !strings.Contains(s.stderr.String(), "a signal came before the browser had fetched it") {
		t.Errorf("after Ctrl-C the status is %d: %s", status, s.stderr.String())
	}
}

func TestWhatCannotBeShownIsRefusedAtOnce(t *testing.T) {
	s, _ := show(t, nil, "wprof-perfetto", written(t))
	got := tools.Try(t, time.Minute, nil, "wprof-perfetto", "--open", "-o", filepath.Join(t.TempDir(), "x.pb"), written(t))
	if want := "wprof-perfetto: serve a file on port 9001, where the page looks for it: address already in use; another --open may wait there for its page\n"; got.Status != 1 || string(got.Stderr) != want {
		t.Errorf("with the port in use: status %d, %q; want %q", got.Status, got.Stderr, want)
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	s.wait()
	if got := tools.Try(t, time.Minute, nil, "wprof-flame", "--open", "-o", "-", written(t)); got.Status != 2 || !strings.Contains(string(got.Stderr), "leave out -o") {
		t.Errorf("to standard output: status %d, %q", got.Status, got.Stderr)
	}
}

// The browser is that of the user who called sudo, never one of root.
func TestBrowserIsThatOfTheCaller(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	for _, c := range []struct {
		env  []string
		user string // "": no browser is opened
	}{
		{[]string{"DISPLAY=:9", "SUDO_UID=65534", "SUDO_GID=65534"}, "65534"}, {[]string{"WAYLAND_DISPLAY=w", "SUDO_UID=65534", "SUDO_GID=65534"}, "65534"},
		{[]string{"DISPLAY=:9"}, ""}, {[]string{"DISPLAY=:9", "SUDO_UID=0"}, ""}, {[]string{"SUDO_UID=65534"}, ""},
	} {
		dir := t.TempDir()
		opened := filepath.Join(dir, "opened")
		xdg := fmt.Sprintf("#!/bin/sh\necho \"$(id -u) $(id -Gn) $USER $XDG_RUNTIME_DIR $1\" >%s.new && mv %[1]s.new %[1]s\n", opened)
		if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(xdg), 0o755); err != nil {
			t.Fatal(err)
		}
		for d := dir; strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		s, link := show(t, append(c.env, "PATH="+dir+":"+os.Getenv("PATH")), "wprof-flame", written(t))
		if got := strings.Contains(s.stderr.String(), "it is being opened in the browser"); got != (c.user != "") {
			t.Errorf("%q: it says %q", c.env, s.stderr.String())
		}
		var got []byte
		for end := time.Now().Add(time.Minute); c.user != "" && len(got) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			got, _ = os.ReadFile(opened)
		}
		_, _ = io.Copy(io.Discard, get(t, link, func(*http.Request) {}).Body)
		if status := s.wait(); status != 0 {
			t.Errorf("%q: status %d: %s", c.env, status, s.stderr.String())
		}
		want := ""
		if c.user != "" {
			want = "65534 nogroup nobody /run/user/65534 " + link + "\n"
		} else {
			got, _ = os.ReadFile(opened)
		}
		if string(got) != want {
			t.Errorf("%q: the browser is opened as %q, want %q", c.env, got, want)
		}
	}
}
