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
	"time"

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
	if err == nil {
		err = attachBy(pid, os.Args[2])
	}
	switch {
	case errors.Is(err, ErrNoPython):
		err = send(messageNoPython, "", nil)
	case errors.Is(err, ErrNoTorch):
		err = send(messageNoTorch, "", nil)
	case err != nil:
		err = send(messageFailed, err.Error(), nil)
	default:
		err = send(messageDone, "", nil)
	}
	if err != nil {
		os.Exit(1) // the recorder has ended; the agent will find that out
	}
	os.Exit(0)
}

// What the process that attaches sends, as the first byte of a message.
const (
	messageSeized   = 's' // the program that is to begin is traced
	messageMemory   = 'm' // with a descriptor; it is answered by a byte when the recorder is ready for calls
	messageDone     = 'd'
	messageFailed   = 'e' // and why
	messageNoPython = 'n'
	messageNoTorch  = 't'
)

func send(what byte, text string, rights []byte) error {
	return unix.Sendmsg(helperSocket, append([]byte{what}, text[:min(len(text), maxReply-1)]...), rights, nil, unix.MSG_NOSIGNAL)
}

// answerWithin bounds the time for which the process waits, stopped, until the recorder is ready.
const answerWithin = 500 * time.Millisecond

// hand gives the memory to the recorder.
func hand(memory int) error {
	timeout := unix.NsecToTimeval(answerWithin.Nanoseconds())
	if err := unix.SetsockoptTimeval(helperSocket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return fmt.Errorf("wait for the recorder: %w", err)
	}
	if err := send(messageMemory, "", unix.UnixRights(memory)); err != nil {
		return fmt.Errorf("send its memory: %w", err)
	}
	if n, err := unix.Read(helperSocket, make([]byte, 1)); err != nil || n != 1 {
		return errors.New("the recorder was not ready for it")
	}
	return nil
}

// attachBy attaches as a word says.
func attachBy(pid int, word string) error {
	word, text, isCalls := strings.Cut(word, " ")
	if !isCalls {
		return attach(pid, torchAgent(word == wordShapes), hand)
	}
	set, err := readSettings(text)
	if err != nil {
		return err
	}
	switch word {
	case wordCommand:
		return attachAtBegin(pid, set)
	case wordNew:
		return attachSoon(pid, set)
	}
	return attach(pid, callAgent(set), hand)
}

// The agents, as words of the process that attaches, and when it does so. Settings of calls follow after a space.
const (
	wordCalls   = "calls"
	wordNew     = "calls-new"     // when the interpreter has been initialised
	wordCommand = "calls-command" // at that moment, from before the program is executed
	wordTorch   = "torch"
	wordShapes  = "torch-shapes"
)

// helper is the recorder's end of the process that attaches.
type helper struct {
	socket int
	cmd    *exec.Cmd
}

func startHelper(pid int, word string) (*helper, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make sockets: %w", err)
	}
	there := os.NewFile(uintptr(pair[1]), "socket")
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{helperName, strconv.Itoa(pid), word}
	cmd.ExtraFiles = []*os.File{there}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = there.Close()
	if err != nil {
		_ = unix.Close(pair[0])
		return nil, fmt.Errorf("start the process that attaches: %w", err)
	}
	return &helper{pair[0], cmd}, nil
}

func (h *helper) end() {
	_ = unix.Close(h.socket)
	_ = h.cmd.Wait()
}

// next returns the next message that is no failure, and the descriptor with it; -1: there is none.
func (h *helper) next() (what byte, fd int, err error) {
	text, control := make([]byte, maxReply+1), make([]byte, unix.CmsgSpace(4))
	n, controlled, err := 0, 0, error(unix.EINTR)
	for err == unix.EINTR {
		n, controlled, _, _, err = unix.Recvmsg(h.socket, text, control, unix.MSG_CMSG_CLOEXEC)
	}
	switch {
	case err != nil:
		return 0, -1, fmt.Errorf("read from the process that attaches: %w", err)
	case n == 0:
		return 0, -1, errors.New("the process that attaches has ended")
	case text[0] == messageNoPython:
		return 0, -1, ErrNoPython
	case text[0] == messageNoTorch:
		return 0, -1, ErrNoTorch
	case text[0] == messageFailed:
		return 0, -1, errors.New(strings.TrimSpace(string(text[1:n])))
	case text[0] != messageMemory:
		return text[0], -1, nil
	}
	messages, err := unix.ParseSocketControlMessage(control[:controlled])
	if err != nil || len(messages) != 1 {
		return 0, -1, errors.New("the process that attaches has sent no memory")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, -1, errors.New("the process that attaches has sent no memory")
	}
	return messageMemory, fds[0], nil
}

// finish waits for the memory, of which it makes a process that ready gets before any call is written, and until the process is attached to.
func (h *helper) finish(pid int, how tracing, size int, ready func(*Process) error) (*Process, error) {
	_, fd, err := h.next()
	if err != nil {
		return nil, err
	}
	p, err := newProcess(pid, fd, size, how)
	if err != nil {
		return nil, err
	}
	if err := ready(p); err != nil {
		p.unmap()
		return nil, err
	}
	_, err = unix.Write(h.socket, []byte{1})
	if err == nil {
		_, _, err = h.next()
	}
	if err != nil {
		p.failed.Store(true)
		return p, err
	}
	return p, nil
}
