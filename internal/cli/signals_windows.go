package cli

import "os"

// statusControlC is what Windows reports for a process that Ctrl-C ended (STATUS_CONTROL_C_EXIT), cut to the part that
// shells show alike.
const statusControlC = 130

func endingSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func isQuit(os.Signal) bool { return false }

func raise(os.Signal) { os.Exit(statusControlC) }
