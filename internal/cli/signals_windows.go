package cli

import "os"

func endingSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func raise(os.Signal) { os.Exit(130) }

func raisePipe() { os.Exit(ExitFailed) }
