//go:build linux

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

// commands are the lines of a page that a reader would copy: in an indented block, and with one of our tools in them.
func commands(page string) []string {
	var all []string
	for line := range strings.Lines(page) {
		text, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		text = strings.TrimPrefix(text, "$ ")
		if indented && !regexp.MustCompile(`\[flags\]|FILE`).MatchString(text) && regexp.MustCompile(`^(sudo )?wprof(-[a-z]+| [a-z]+)( |$)`).MatchString(text) {
			all = append(all, text)
		}
	}
	return all
}

// tried is a command as the test runs it: without sudo and a browser, for a second at most, on a process that exists.
func tried(command string) string {
	command = strings.ReplaceAll(command, "sudo ", "")
	command = regexp.MustCompile(`-d ?[0-9]+(m?s)?\b`).ReplaceAllString(command, "-d300ms")
	command = strings.ReplaceAll(command, " --open", "") // test/open has a browser
	command = regexp.MustCompile(`--prepare \S+`).ReplaceAllString(command, "--prepare +100ms")
	command = regexp.MustCompile(`--activate \S+`).ReplaceAllString(command, "--activate /1s")
	command = regexp.MustCompile(`\| grep .*`).ReplaceAllString(command, "| cat")
	return regexp.MustCompile(`\b1234\b`).ReplaceAllString(command, strconv.Itoa(os.Getpid()))
}

func TestCommandsInTheDocumentationWork(t *testing.T) {
	tools.NeedPrivilege(t)
	pages, err := filepath.Glob("../../docs/wprof*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	given := stage(t)
	for _, page := range append(pages, "../../docs/json.md", "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			found := commands(string(text))
			if len(found) == 0 {
				t.Fatal("the page shows no command")
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(given)); err != nil {
				t.Fatal(err)
			}
			for _, command := range found {
				try(t, dir, command)
			}
		})
	}
}

// stage is a folder with what the pages take for granted: captures, one of them broken, a spool that was cut short, a
// text form, make(1), and a folder of debug files.
func stage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"host.wprof", "capture.wprof", "a.wprof", "b.wprof"} {
		tools.Run(t, "wprof-record", "-d300ms", "-o", filepath.Join(dir, name))
	}
	tools.Run(t, "wprof-record", "-o", filepath.Join(dir, "app.wprof"), "-U", "u:malloc (arg:0/name(size), stack, path:libc.so.6) | id:malloc |",
		"-U", "uspan:malloc (path:libc.so.6) | id:handle_request |", "--", "ls", dir)
	whole, err := os.ReadFile(filepath.Join(dir, "host.wprof"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.wprof"), whole[:len(whole)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "case.txt"), tools.Run(t, "wprof-info", "--dump", filepath.Join(dir, "a.wprof")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pids.txt"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	killed := exec.Command(tools.Path("wprof-record"), "-d60s", "-o", filepath.Join(dir, "host.wprof"))
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	// The file grows beyond its header when the window opens.
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if info, err := os.Stat(filepath.Join(dir, "host.wprof.part")); err == nil && info.Size() > 4096 {
			break
		}
	}
	time.Sleep(1500 * time.Millisecond)
	_ = killed.Process.Kill()
	_ = killed.Wait()
	script, err := os.ReadFile("../../scripts/wprof-wallclock")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wprof-wallclock"), script, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"make", "test"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nsleep 0.1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "debug"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func try(t *testing.T, dir, command string) {
	t.Helper()
	cmd := exec.Command("bash", "-o", "pipefail", "-c", tried(command))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+tools.Folder()+":"+dir+":"+os.Getenv("PATH"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if cut := strings.Contains(command, "broken.") || strings.Contains(command, ".part"); cut && cmd.ProcessState.ExitCode() == 4 {
		return
	}
	if err != nil {
		t.Errorf("%s\n(run as: %s)\n%v: %s", command, tried(command), err, stderr.String())
	}
}
