package cli

import "fmt"

// FailOnLoss is the flag that makes lost events an error.
func FailOnLoss() Flag {
	return Flag{Name: "fail-on-loss", Usage: "Exit with status 5 if events were lost."}
}

// WarnDroppedThreads warns of threads of an input that a tool has dropped, because more were alive than it keeps. A thread that
// is dropped twice counts twice.
func (inv *Invocation) WarnDroppedThreads(input string, threads int64) {
	if threads > 0 {
		inv.Warnf("%s: dropped %s, because too many threads have no recorded end; what such a thread did is unknown until it appears again", input, Counted(uint64(threads), "thread"))
	}
}

// Lost returns the error of an input in which events are missing if --fail-on-loss was given, else nil.
func (inv *Invocation) Lost(input string, lost bool) error {
	if !lost || !inv.Bool("fail-on-loss") {
		return nil
	}
	return WithCode(ExitLost, fmt.Errorf("events of %s are missing, and --fail-on-loss was given", input))
}
