package usercode

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"wprof/internal/probe"
)

// FuzzFile changes bytes of small programs and reads everything that is in them.
func FuzzFile(f *testing.F) {
	for _, flags := range [][]string{{"-O0", "-gdwarf-5"}, {"-O2", "-gdwarf-4"}} {
		out := filepath.Join(f.TempDir(), "program")
		args := append(flags, "-g", "-nostdlib", "-Wl,-e,main", "-fno-stack-protector", "-fno-builtin", "-o", out, "testdata/small.c")
		if err := exec.Command("gcc", args...).Run(); err != nil {
			f.Skipf("build: %v", err)
		}
		image, err := os.ReadFile(out)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(image, []byte{}, uint32(0))
		f.Add(image, []byte{0xff, 0xff}, uint32(len(image)/2))
	}
	f.Fuzz(func(t *testing.T, image, patch []byte, at uint32) {
		image = bytes.Clone(image)
		if int(at) < len(image) {
			copy(image[at:], patch)
		}
		file, err := read(bytes.NewReader(image), int64(len(image)), "")
		if err != nil {
			return
		}
		file.debugSought = true
		exercise(t, file)
	})
}

// exercise reads what a file says of its functions.
func exercise(t *testing.T, file *File) {
	list, _ := file.Functions("*", 1<<20)
	for i := range list[:min(len(list), 16)] {
		fn := &list[i]
		_, _ = file.Returns(fn)
		args, _ := file.Arguments(fn)
		_, _ = file.Result(fn)
		_, _ = file.Variables(fn.Address + fn.Size/2)
		for j := range args {
			arg := &probe.Arg{Base: probe.BaseIndex, Index: j}
			for _, access := range []probe.Access{{Kind: probe.Field, Field: "next"}, {Kind: probe.Element, Index: 1}} {
				if read, err := file.Resolve(Where{fn.Address, AtEntry}, arg); err == nil {
					checkPlan(t, file.Machine(), &read)
				}
				arg.Access = append(arg.Access, access)
			}
		}
	}
	_, _ = file.Line("small.c", 12)
	_, _ = file.USDT("*", "*")
}

// FuzzReturns checks that return instructions are in the code.
func FuzzReturns(f *testing.F) {
	f.Add([]byte{0xc5, 0xf8, 0x77, 0xc3}, true)
	f.Add(binary.LittleEndian.AppendUint32(nil, 0xd65f03c0), false)
	f.Fuzz(func(t *testing.T, code []byte, isX86 bool) {
		find := returnsArm
		if isX86 {
			find = returnsX86
		}
		at, _ := find(code)
		for _, offset := range at {
			if offset >= uint64(len(code)) {
				t.Fatalf("a return is at %d of %d bytes", offset, len(code))
			}
		}
	})
}
