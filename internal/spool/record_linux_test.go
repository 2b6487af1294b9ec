package spool

import (
	"testing"

	"github.com/cilium/ebpf/btf"

	"wprof/bpf"
	"wprof/internal/ringdata"
)

// TestRecordsAreLaidOutAsInC holds the offsets and sizes in record.go against the types in the compiled programs.
func TestRecordsAreLaidOutAsInC(t *testing.T) {
	types, err := bpf.RecordTypes()
	if err != nil {
		t.Fatal(err)
	}
	type field struct {
		name         string
		offset, size uint32
	}
	hdr := field{"hdr", 0, hdrSize}
	for name, want := range map[string]struct {
		size   uint32
		fields []field
	}{
		"rec_hdr": {hdrSize, []field{{"ts", hdrTime, 8}, {"kind", hdrKind, 1}, {"flags", hdrFlags, 1}, {"cpu", hdrCPU, 2}, {"tid", hdrTID, 4}}},
		"rec_ident": {identSize, []field{
			{"tid", identTID, 4}, {"pid", identPID, 4}, {"ppid", identPPID, 4}, {"task_flags", identFlags, 4}, {"start_ns", identStart, 8},
			{"comm", identComm, commLength}, {"process_comm", identProcessComm, commLength},
			{"ns_tid", identNSTID, 4}, {"ns_pid", identNSPID, 4},
		}},
		"rec_switch": {switchSize, []field{
			hdr, {"next_tid", switchNext, 4}, {"prev_state", switchPrevState, 4}, {"prev_prio", switchPrevPrio, 2}, {"next_prio", switchNextPrio, 2}, {"distance", switchDistance, 4},
		}},
		"rec_waking":      {wakingSize, []field{hdr, {"wakee_tid", wakingWakee, 4}, {"prio", wakingPrio, 2}, {"target_cpu", wakingTarget, 2}}},
		"rec_parts":       {ringdata.PartsSize, []field{{"mask", ringdata.PartsMask, 2}, {"words", ringdata.PartsWords, 6}}},
		"rec_stacks_part": {ringdata.StacksBytes + ringdata.PartsSize, []field{{"stacks", 0, ringdata.StacksBytes}, {"parts", ringdata.StacksBytes, ringdata.PartsSize}}},
		"rec_packed_switch": {ringdata.PackedSwitchSize, []field{
			{"next_tid", ringdata.PackedSwitchNext, 4}, {"prev_state", ringdata.PackedSwitchPrevState, 2},
			{"prev_prio", ringdata.PackedSwitchPrevPrio, 1}, {"next_prio", ringdata.PackedSwitchNextPrio, 1},
		}},
		"rec_packed_waking": {ringdata.PackedWakingSize, []field{
			{"wakee_tid", ringdata.PackedWakingWakee, 4}, {"target_cpu", ringdata.PackedWakingTarget, 2},
			{"prio", ringdata.PackedWakingPrio, 1}, {"pad", 7, 1},
		}},
		"rec_packed_return": {ringdata.PackedReturnSize, []field{{"stacks", ringdata.PackedReturnStacks, stacksSize}}},
		"rec_fork":          {forkSize, []field{hdr, {"child", forkChild, identSize}}},
		"rec_exec": {execSize, []field{
			hdr, {"who", execWho, identSize}, {"old_tid", execOldTID, 4}, {"filename_len", execFilenameLength, 4}, {"filename", execFilename, 0},
		}},
		"rec_rename": {renameSize, []field{hdr, {"who", renameWho, identSize}, {"old_comm", renameWho + identSize, commLength}}},
		"rec_exit":   {exitSize, []field{hdr, {"start_ns", 16, 8}, {"pid", exitPID, 4}, {"code", exitCode, 4}}},
		"rec_free": {freeNamedSize, []field{
			hdr, {"start_ns", freeStart, 8}, {"pid", freePID, 4}, {"task_flags", freeFlags, 4},
			{"comm", freeComm, commLength}, {"process_comm", freeProcessComm, commLength},
		}},
		"rec_lost": {lostCounts + 4*lostKinds, []field{hdr, {"from", lostFrom, 8}, {"counts", lostCounts, 4 * lostKinds}}},
		"rec_task": {taskSize, []field{
			hdr, {"who", taskWho, identSize}, {"state", taskState, 4}, {"prio", taskPrio, 2}, {"pad", 86, 2}, {"since_ns", taskTime, 8},
		}},
		"rec_stack": {stackSize, []field{
			hdr, {"id", stackID, 8}, {"pid", stackPID, 4}, {"count", stackCount, 4}, {"addrs", stackAddrs, 0},
		}},
		"rec_stacks": {stacksSize, []field{{"user", stacksUser, 8}, {"kernel", stacksKernel, 8}}},
		"rec_return": {returnSize, []field{hdr, {"stacks", returnStacks, stacksSize}}},
		"rec_blocked": {blockedSize, []field{
			hdr, {"start_ns", blockedStart, 8}, {"pid", blockedPID, 4}, {"cut", blockedCut, 4}, {"kernel_count", blockedKernel, 4},
			{"user_count", blockedUser, 4}, {"since_ns", blockedSince, 8}, {"state", blockedState, 4}, {"prio", blockedPrio, 4}, {"addrs", blockedAddrs, 0},
		}},
		"rec_sample": {sampleSize, []field{
			hdr, {"user", sampleUser, 8}, {"kernel", sampleKernel, 8}, {"pid", samplePID, 4}, {"source", sampleSource, 4},
		}},
		"rec_args": {argsSize, []field{hdr, {"pid", argsPID, 4}, {"len", argsLength, 4}, {"args", argsWords, 0}}},
	} {
		c := types[name]
		if c == nil {
			t.Errorf("the programs have no struct %s", name)
			continue
		}
		delete(types, name)
		if c.Size != want.size {
			t.Errorf("%s has %d bytes in C, want %d", name, c.Size, want.size)
		}
		if len(c.Members) != len(want.fields) {
			t.Errorf("%s has %d fields in C, want %d", name, len(c.Members), len(want.fields))
			continue
		}
		for i, m := range c.Members {
			size, err := btf.Sizeof(m.Type)
			if err != nil {
				t.Fatal(err)
			}
			if got := (field{m.Name, m.Offset.Bytes(), uint32(size)}); got != want.fields[i] {
				t.Errorf("%s: field %v in C, want %v", name, got, want.fields[i])
			}
		}
	}
	for name := range types {
		t.Errorf("struct %s is in C only", name)
	}
}
