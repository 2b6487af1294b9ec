package assemble

import (
	"wprof/format"
	"wprof/internal/spool"
)

// Options select how a spool is finalised.
type Options struct {
	// Live: the spool is still being written. Finalise writes what is certain after every round and returns after
	// [spool.Writer.End] or when [spool.Writer.Close] is called.
	Live bool
	// Progress is called after each round with the bytes of the spool that are done, and all of them; 0 while live.
	Progress func(done, total int64)
	// Names gives frames their names; nil: they get none. A live stream looks them up in a goroutine of its own, which has
	// ended when Finalise returns.
	Names Namer
	// Lines gives named frames their source lines and inlined functions; nil: they get none, as in a live stream.
	Lines LineFinder
	// Cost is called at the very end for what the recorder has used; ring and spool bytes and the programs are
	// filled in if they are not.
	Cost func() *format.RecorderCost
	// Marks are the triggers of snapshots, in the order of time.
	Marks []Mark
}

// Summary describes a finalised stream.
type Summary struct {
	Open, Close int64
	Events      map[format.Kind]uint64
	Threads     int            // that the stream names, without the idle ones
	Lost        uint64         // events, as far as their number is known
	Losses      []*format.Loss // by CPU, kind and cause, of all sections
	LostByCause map[format.Cause]uint64
	Late        uint64
	Sections    int
	Damage      *spool.Damage // nil: none

	Samples      uint64
	User, Kernel FrameCount
	Stacks       StackCount
	Modules      []ModuleFrames  // those with the most nameless frames first
	Generated    []GeneratedCode // those with the most nameless stacks first
}
