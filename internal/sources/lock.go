package sources

import (
	"wprof/format"
	"wprof/internal/ringdata"
)

// lockTypes are spans of threads that wait for kernel locks.
func lockTypes() []Type {
	return []Type{{
		Number: ringdata.TypeLock, Feature: "lock", Doc: "waits for contended kernel locks, with stacks",
		Programs: []Program{
			{Name: "contention_begin"}, {Name: "contention_begin_again", On: "contention_begin", Second: "skipped_lock_ends"},
			{Name: "contention_end", Writes: true}, {Name: "contention_end_again", On: "contention_end", Writes: true, Second: "skipped_lock_ends"},
			{Name: "open_locks", AtClose: true},
		},
		Def: threadSpan("lock", "lock", "Kernel locks",
			name(enum("lock", locks()...)), hex(Field("address", format.ValueType_VALUE_UINT)), Field("owner", format.ValueType_VALUE_TASK),
			Field("result", format.ValueType_VALUE_INT), Field("stack", format.ValueType_VALUE_STACK)),
	}}
}

// locks names the combinations of the flags in include/trace/events/lock.h that occur.
func locks() []*format.EnumName {
	name := func(flags int64, text string) *format.EnumName {
		return &format.EnumName{Number: flags, Name: []byte(text)}
	}
	const spin, read, write = ringdata.LockSpin, ringdata.LockRead, ringdata.LockWrite
	return []*format.EnumName{
		name(0, "semaphore"), name(spin, "spinlock"), name(spin|read, "rwlock read"), name(spin|write, "rwlock write"),
		name(read, "rwsem read"), name(write, "rwsem write"), name(ringdata.LockRt, "rtmutex"),
		name(ringdata.LockRt|read, "rt rwsem read"), name(ringdata.LockRt|write, "rt rwsem write"),
		name(ringdata.LockPercpu|read, "percpu rwsem read"), name(ringdata.LockPercpu|write, "percpu rwsem write"), name(ringdata.LockMutex, "mutex"),
	}
}
