package records

import (
	"slices"
	"testing"
)

// The constants for fields are their indices in the table, and no kind has more fields than a Record holds.
func TestTableFitsRecord(t *testing.T) {
	fields := map[Kind]map[string]int{
		Switch: {"prev": SwitchPrev, "next": SwitchNext, "prev_state": SwitchPrevState, "prev_prio": SwitchPrevPrio,
			"next_prio": SwitchNextPrio, "waking_ts": SwitchWakingTime, "waking_reason": SwitchWakingReason, "waker": SwitchWaker,
			"waking_cpu": SwitchWakingCPU, "waking_context": SwitchWakingContext, "waking_interrupt": SwitchWakingInterrupt, "offcpu_dur": SwitchOffCPU, "next_state": SwitchNextState,
			"offcpu_stack_id": SwitchOffCPUStack, "wait_class": SwitchWaitClass, "wait_call": SwitchWaitCall, "wait_fd": SwitchWaitFD,
			"wait_file": SwitchWaitFile, "wait_peer": SwitchWaitPeer, "futex": SwitchFutex, "lock_owner": SwitchLockOwner, "compound_delay": SwitchDelay, "compound_chain_len": SwitchChain, "interrupts_dur": SwitchInterrupts, "pmus": SwitchPMUs},
		Waking:     {"waker": WakingWaker, "wakee": WakingWakee, "waker_stack_id": WakingStack, "waking_context": WakingContext},
		WakeupNew:  {"waker": WakingWaker, "wakee": WakingWakee, "waker_stack_id": WakingStack},
		Timer:      {"task": TimerTask, "stack_id": TimerStack, "pmus": TimerCounters},
		PMUEvent:   {"task": PMUTask, "pmu": PMUName, "sample_period": PMUPeriod, "stack_id": PMUStack, "pmus": PMUCounters},
		Fork:       {"task": ForkTask, "child": ForkChild},
		Exec:       {"task": ExecTask, "filename": ExecFilename, "old_tid": ExecOldTID},
		TaskRename: {"task": LifeTask}, TaskExit: {"task": ExitTask, "exit_code": ExitCode, "exit_signal": ExitSignal}, TaskFree: {"task": LifeTask},
		Lost: {"dur": LostDuration, "start_ts": LostStart, "count": LostCount, "cause": LostCause, "what": LostWhat, "type": LostType, "open": LostOpen},
		Gap:  {"dur": GapDuration, "start_ts": GapStart},
		Typed: {"name": TypedName, "group": TypedGroup, "task": TypedTask, "phase": TypedPhase, "ends": TypedEnds, "key": TypedKey, "dur": TypedDuration,
			"start_ts": TypedStart, "open": TypedOpen, "args": TypedArgs, "pmus": TypedCounters},
		ProbeInstant: {"utrace_id": ProbeID, "name": ProbeName, "task": ProbeTask, "stack_id": ProbeStack, "args": ProbeArgs},
		ProbeEntry:   {"utrace_id": ProbeID, "name": ProbeName, "task": ProbeTask, "stack_id": ProbeStack, "args": ProbeArgs},
		ProbeExit: {"utrace_id": ProbeID, "name": ProbeName, "task": ProbeTask, "stack_id": ProbeStack, "dur": ProbeDuration, "start_ts": ProbeStart,
			"open": ProbeOpen, "args": ProbeExitArgs},
	}
	slots := map[string]int{
		"prev_state": slotPrevState, "prev_prio": slotPrevPrio, "next_prio": slotNextPrio, "waking_ts": slotWakingTime,
		"waking_reason": slotReason, "waking_cpu": slotWakingCPU, "waking_context": slotWakingContext, "offcpu_dur": slotOffCPU, "next_state": slotNextState,
		"offcpu_stack_id": slotStack, "wait_class": slotClass, "wait_fd": slotFD, "futex": slotFutex, "lock_owner": slotOwner,
		"wait_call": labelCall, "wait_file": labelFile, "wait_peer": labelPeer, "compound_delay": slotDelay, "compound_chain_len": slotChain, "interrupts_dur": slotInterrupts,
	}
	kinds := Kinds()
	if len(kinds) < int(Typed) {
		t.Fatalf("%d kinds", len(kinds))
	}
	for _, k := range kinds {
		values, tasks := 0, 0
		for i, f := range k.Fields {
			if want, named := fields[k.Kind][f.Name]; named && want != i || !named && k.IsAvailable() && k.Kind <= ProbeExit {
				t.Errorf("%s.%s is field %d, its constant says %d (%v)", k.Name, f.Name, i, want, named)
			}
			if k.Kind == Switch && f.Type != TypeTask && f.Type != TypeNumbers && slots[f.Name] != f.Slot {
				t.Errorf("switch.%s has slot %d, its constant says %d", f.Name, f.Slot, slots[f.Name])
			}
			switch f.Type {
			case TypeTask, TypeRenamed:
				tasks++
			case TypeText, TypeNumbers, TypeArgs, TypeLabel:
			default:
				values++
			}
			if (f.Type == TypeWord) != (f.Words != nil) || slices.Contains(f.Words, "") {
				t.Errorf("%s.%s has the words %q", k.Name, f.Name, f.Words)
			}
		}
		if values > maxValues || tasks > maxTasks {
			t.Errorf("%s has %d values and %d tasks", k.Name, values, tasks)
		}
	}
}
