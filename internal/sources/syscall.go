package sources

import (
	"wprof/format"
	"wprof/internal/ringdata"
)

// Calls is the group of system calls, and the word of -f.
const Calls = "syscall"

// callType is the type of all system calls in the records of the kernel programs. In the stream each call has a type of its own, see
// internal/assemble.
func callType() Type {
	return Type{
		Number: ringdata.TypeSyscall, Feature: Calls, Doc: "system calls; syscall=read,epoll_*: only these",
		Programs: []Program{
			{Name: "sys_enter"}, {Name: "sys_enter_again", On: "sys_enter", Second: "skipped_ends", Preempted: true},
			{Name: "sys_exit", Writes: true}, {Name: "sys_exit_again", On: "sys_exit", Writes: true, Second: "skipped_ends", Preempted: true},
			{Name: "last_call", On: "sched_process_exit"}, {Name: "open_calls", AtClose: true},
		},
		Def: Call(Calls),
	}
}

// Call is a type of system calls: spans of the calling threads.
func Call(name string, fields ...*format.TypeField) *format.EventType {
	return &format.EventType{
		Name: []byte(name), Group: []byte(Calls), Shape: uint32(format.TypeShape_SHAPE_SPAN), Track: []byte("System calls"), Colour: []byte(name), Table: []byte(Calls),
		Fields: fields,
	}
}
