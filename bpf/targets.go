//go:build linux

package bpf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"wprof/internal/cli"
	"wprof/internal/kerneltype"
	"wprof/internal/probeplan"
	"wprof/internal/usercode"
)

// FindPrograms returns the functions of loaded BPF programs that PROG|ID[:SUBPROG] names: the entry point, or the subprogram. A name without
// a program is found in each program that has it.
func FindPrograms(read *Preloaded, target string) (found []probeplan.BPFFunction, err error) {
	program, function, hasFunction := strings.Cut(target, ":")
	id, _ := strconv.Atoi(program)
	var names []string
	err = eachProgram(func(p *ebpf.Program, info *ebpf.ProgramInfo) error {
		known, _ := info.ID()
		t := bpfTarget{read: read, info: info, id: int(known), fd: p.FD(), functions: typedFunctions(info)}
		if len(t.functions) == 0 {
			return nil // a program without types cannot be probed
		}
		names = append(names, t.entry().Name)
		for i, fn := range t.functions {
			isProgram := t.id == id || t.entry().Name == program || info.Name == program
			if hasFunction && isProgram && fn.Name == function || !hasFunction && (i == 0 && isProgram || fn.Name == program) {
				one, err := t.describe(i)
				if err != nil {
					return err
				}
				if err := read.hold(t.id, p); err != nil {
					return err
				}
				found = append(found, one)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		slices.Sort(names)
		return nil, &usercode.NotFound{What: "loaded BPF program", Name: target, Near: cli.Nearest(program, slices.Compact(names))}
	}
	return found, nil
}

// bpfTarget is a loaded program with its functions, of which the first is the entry point.
type bpfTarget struct {
	read      *Preloaded
	info      *ebpf.ProgramInfo
	id, fd    int
	functions []*btf.Func
}

func (t *bpfTarget) entry() *btf.Func { return t.functions[0] }

func (t *bpfTarget) describe(i int) (probeplan.BPFFunction, error) {
	fn := t.functions[i]
	one := probeplan.BPFFunction{ID: t.id, Name: fn.Name}
	proto, ok := fn.Type.(*btf.FuncProto)
	if !ok {
		return one, fmt.Errorf("BPF program %s has no types", fn.Name)
	}
	if _, isVoid := proto.Return.(*btf.Void); !isVoid {
		one.Result = proto.Return
	}
	if i > 0 {
		one.Params = paramsOf(proto)
		return one, nil
	}
	kernel, err := t.read.Types()
	if err != nil {
		return one, err
	}
	one.Context = kernelContext(kernel, t.info.Type)
	one.Params, err = t.kernelParams(kernel)
	return one, err
}

func paramsOf(proto *btf.FuncProto) (params []kerneltype.Param) {
	for _, p := range proto.Params {
		params = append(params, kerneltype.Param{Name: strings.TrimSuffix(p.Name, "__nullable"), Type: p.Type})
	}
	return params
}

// kernelParams are the arguments that the kernel passes to programs that are attached to something with types: a tracepoint, a function, an
// operation.
func (t *bpfTarget) kernelParams(kernel *btf.Spec) ([]kerneltype.Param, error) {
	of, err := t.attachedTo(kernel)
	if err != nil || of == nil {
		return nil, err
	}
	switch of := of.(type) {
	case *btf.Typedef:
		return rawParams(kernel, of), nil
	case *btf.Func:
		if proto, ok := of.Type.(*btf.FuncProto); ok {
			return paramsOf(proto), nil
		}
	case *btf.Struct:
		return t.operationParams(kernel, of), nil
	}
	return nil, nil
}

// operationParams are the arguments of an operation in a table of the kernel (struct_ops). The kernel does not say which operation a program is:
// it is the one whose name the program's name ends with. BTF has the arguments' names only if the kernel has a stub TABLE__OPERATION, for tables
// without that operation (kernel/bpf/bpf_struct_ops.c).
func (t *bpfTarget) operationParams(kernel *btf.Spec, table *btf.Struct) (params []kerneltype.Param) {
	longest := 0
	for _, m := range table.Members {
		pointer, ok := btf.UnderlyingType(m.Type).(*btf.Pointer)
		if !ok || len(m.Name) <= longest || !strings.HasSuffix(t.entry().Name, m.Name) {
			continue
		}
		if proto, ok := pointer.Target.(*btf.FuncProto); ok {
			longest, params = len(m.Name), paramsOf(proto)
			var stub *btf.Func
			if kernel.TypeByName(table.Name+"__"+m.Name, &stub) == nil {
				params = paramsOf(stub.Type.(*btf.FuncProto))
			}
		}
	}
	return params
}

// attachedTo returns the type in the kernel's BTF to which the program is attached; nil: none.
func (t *bpfTarget) attachedTo(kernel *btf.Spec) (btf.Type, error) {
	const objGetInfoByFD, sizeofInfo, attachType = 15, 232, 224 // struct bpf_prog_info, include/uapi/linux/bpf.h
	var info [sizeofInfo]byte
	query := struct {
		fd, length uint32
		info       unsafe.Pointer
	}{uint32(t.fd), sizeofInfo, unsafe.Pointer(&info)}
	if _, err := bpfCall(objGetInfoByFD, unsafe.Pointer(&query), unsafe.Sizeof(query)); err != nil {
		return nil, fmt.Errorf("read what BPF program %d is attached to: %w", t.id, err)
	}
	id := btf.TypeID(*(*uint32)(unsafe.Pointer(&info[attachType])))
	if id == 0 {
		return nil, nil
	}
	of, err := kernel.TypeByID(id)
	if err != nil {
		return nil, nil //nolint:nilerr // it is a type of a module, or of another program
	}
	return of, nil
}

// kernelContext is the type of what a program is called with, as the kernel has it: the headers for programs describe another one
// (include/linux/bpf_types.h).
func kernelContext(kernel *btf.Spec, of ebpf.ProgramType) btf.Type {
	names := map[ebpf.ProgramType]string{
		ebpf.SocketFilter: "sk_buff", ebpf.Kprobe: "pt_regs", ebpf.SchedCLS: "sk_buff", ebpf.SchedACT: "sk_buff", ebpf.XDP: "xdp_buff",
		ebpf.PerfEvent: "bpf_perf_event_data_kern", ebpf.CGroupSKB: "sk_buff", ebpf.CGroupSock: "sock", ebpf.SockOps: "bpf_sock_ops_kern",
		ebpf.SkSKB: "sk_buff", ebpf.SkMsg: "sk_msg", ebpf.CGroupSockAddr: "bpf_sock_addr_kern", ebpf.FlowDissector: "bpf_flow_dissector",
		ebpf.CGroupSysctl: "bpf_sysctl_kern", ebpf.CGroupSockopt: "bpf_sockopt_kern", ebpf.SkLookup: "bpf_sk_lookup_kern",
	}
	if name := names[of]; name != "" {
		var found *btf.Struct
		if kernel.TypeByName(name, &found) == nil {
			return &btf.Pointer{Target: found}
		}
	}
	return &btf.Pointer{Target: &btf.Int{Name: "u64", Size: 8}}
}
