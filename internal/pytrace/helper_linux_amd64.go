package pytrace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// helperName is the name under which the recorder runs itself to attach to a process.
const helperName = "wprof-py-attach"

const (
	helperSocket = 3
	maxReply     = 4096
)

// RunHelper attaches to a process and ends, if that is what this process was started for.
func RunHelper() {
	if len(os.Args) != 3 || os.Args[0] != helperName {
		return
	}
	// It is short, and nothing may end it in the middle.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE, unix.SIGQUIT)
	runtime.LockOSThread()
	pid, err := strconv.Atoi(os.Args[1])
	memory := -1
	if err == nil {
		memory, err = attach(pid, kindOf(os.Args[2]))
	}
	var rights []byte
	text := []byte{0}
	switch {
	case errors.Is(err, ErrNoPython):
		text = []byte{'n'}
	case errors.Is(err, ErrNoTorch):
		text = []byte{'t'}
	case err != nil:
		text = append([]byte{'e'}, err.Error()...)
	default:
		rights = unix.UnixRights(memory)
	}
	if err := unix.Sendmsg(helperSocket, text[:min(len(text), maxReply)], rights, nil, unix.MSG_NOSIGNAL); err != nil {
		os.Exit(1) // the recorder has ended; the agent will find that out
	}
	os.Exit(0)
}

// The agents, as words of the process that attaches.
const (
	wordCalls  = "calls"
	wordTorch  = "torch"
	wordShapes = "torch-shapes"
)

func kindOf(word string) agentKind {
	if set, ok := strings.CutPrefix(word, wordCalls); ok {
		return callAgent(set)
	}
	return torchAgent(word == wordShapes)
}

// runHelper attaches to a process by another one, and returns the shared memory.
func runHelper(pid int, word string) (memory int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("make sockets: %w", err)
	}
	defer unix.Close(pair[0])
	there := os.NewFile(uintptr(pair[1]), "socket")
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{helperName, strconv.Itoa(pid), word}
	cmd.ExtraFiles = []*os.File{there}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = there.Close()
	if err != nil {
		return -1, fmt.Errorf("start the process that attaches: %w", err)
	}
	defer func() { _ = cmd.Wait() }()
	text, control := make([]byte, maxReply+1), make([]byte, unix.CmsgSpace(4))
	n, controlled, _, _, err := unix.Recvmsg(pair[0], text, control, unix.MSG_CMSG_CLOEXEC)
	switch {
	case err != nil:
		return -1, fmt.Errorf("read from the process that attaches: %w", err)
	case n == 0:
		return -1, errors.New("the process that attaches has ended")
	case text[0] == 'n':
		return -1, ErrNoPython
	case text[0] == 't':
		return -1, ErrNoTorch
	case text[0] == 'e':
		return -1, errors.New(strings.TrimSpace(string(text[1:n])))
	}
	messages, err := unix.ParseSocketControlMessage(control[:controlled])
	if err != nil || len(messages) != 1 {
		return -1, errors.New("the process that attaches has sent no memory")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, errors.New("the process that attaches has sent no memory")
	}
	return fds[0], nil
}
