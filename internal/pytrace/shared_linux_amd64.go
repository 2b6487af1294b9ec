package pytrace

// The structures of agent/shared.h, which TestSharedStructures compares with these.
const (
	pageBytes       = 4096
	maxThreads      = 64
	maxDepth        = 4096 // calls within each other
	maxRecords      = 1 << 17
	textBytes       = 512
	maxKnown        = 1 << 14
	globCharacters  = 256 // of all globs on modules
	definitionsAt   = pageBytes
	definitionBytes = 8<<20 - pageBytes
	threadsAt       = definitionsAt + definitionBytes
	threadBytes     = 4<<20 + 132<<10
	sharedBytes     = threadsAt + maxThreads*threadBytes

	commandClosed = 0
	commandOpen   = 1
	commandRetire = 2
	stateNone     = 0
	stateActive   = 1
	stateRetired  = 2

	refusedByProfiler   = 1
	refusedByMonitoring = 2

	controlHeartbeat   = 0
	controlCommand     = 8
	controlState       = 12
	controlRefused     = 16
	controlThreads     = 20
	controlDefinitions = 24
	controlLost        = 32
	controlPlaces      = 40
	controlBeat        = 48
	controlBytes       = 56

	definitionLine       = 0
	definitionName       = 4
	definitionFile       = 8
	definitionCharacters = 16

	callBytes = 32
	callStart = 0
	callCode  = 24

	recordBytes = 32
	recordStart = 0
	recordEnd   = 8
	recordSelf  = 16
	recordCode  = 24
	recordCPU   = 28

	threadHead    = 8
	threadTail    = 16
	threadLost    = 24
	threadTID     = 32
	threadDepth   = 36
	threadLeftOut = 40
	threadCalls   = 64
	threadRecords = threadCalls + maxDepth*callBytes
)

// config is struct config.
type config struct {
	InUse                                                                                                      uint64
	Deadline                                                                                                   uint64
	Shared, SharedBytes, Alive                                                                                 uint64
	Interpreter                                                                                                uint64
	ClockGettime, ThreadGet, Incref, Decref, SysGet, GetAttribute, Call, NewFunction, AsLong, ClearError, None uint64
	Minor                                                                                                      uint64
	HasTSC, HasRDPID, Orphaned, Min                                                                            uint64
	Globs                                                                                                      [globCharacters]uint32
	Threads, NextThread, ThreadID, Profile, Trace, Tracing, Cframe, UseTracing, Frame, FrameCode               uint64
	CodeName, CodeFile, CodeLine, TextLength, TextState, TextKind, TextASCII, TextCompact                      uint64
}
