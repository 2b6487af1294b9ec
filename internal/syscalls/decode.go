package syscalls

import (
	"fmt"
	"strconv"
	"strings"
)

type constant struct {
	number int64
	name   string
}

// Decoder writes arguments as the kernel's headers call them.
type Decoder struct {
	sets    map[string][]constant
	errors  []string
	signals []string
}

// NewDecoder returns a decoder for a machine as uname -m names it.
func NewDecoder(machine string) *Decoder {
	d := &Decoder{sets: x86Constants(), errors: errorNames(), signals: signalNames()}
	if machine == "aarch64" {
		for name, set := range armConstants() {
			d.sets[name] = set
		}
	}
	return d
}

// Has reports whether a kind is a set of constants.
func (d *Decoder) Has(k Kind) bool { return d.sets[string(k)] != nil }

// enumerated returns the bits of a set in which one number is encoded; each of the others is a flag.
func enumerated(k Kind) uint64 {
	switch k {
	case "prot", "msg", "at", "wait", "rwf", "rename", "remap", "msync", "falloc", "splice", "random", "eventfd", "memfd", "mlock", "uring",
		"flock", "timer", "access":
		return 0
	case "open":
		return 3
	case "futex":
		return 0x7f
	case "socket", "map":
		return 0xf
	case "clone":
		return 0xff // the signal at the child's end
	}
	return 1<<32 - 1
}

// Text returns a number of a set as text: O_WRONLY|O_CREAT. Registers may have anything above the 32 bits of these arguments.
func (d *Decoder) Text(k Kind, n uint64) string {
	n &= 1<<32 - 1
	var parts []string
	mask := enumerated(k)
	if mask != 0 && k != "clone" {
		name := d.name(k, n&mask)
		switch {
		case name != "":
			parts = append(parts, name)
		case mask == 1<<32-1:
			return strconv.FormatInt(int64(int32(n)), 10)
		case n&mask != 0:
			parts = append(parts, fmt.Sprintf("%#x", n&mask))
		}
	}
	rest := n &^ mask
	for _, c := range d.sets[string(k)] {
		if flag := uint64(c.number); flag != 0 && flag&mask == 0 && rest&flag == flag {
			parts = append(parts, c.name)
			rest &^= flag
		}
	}
	if rest != 0 {
		parts = append(parts, fmt.Sprintf("%#x", rest))
	}
	if k == "clone" && n&mask != 0 {
		parts = append(parts, d.Signal(n&mask))
	}
	if len(parts) == 0 {
		if name := d.name(k, 0); name != "" {
			return name
		}
		return "0"
	}
	return strings.Join(parts, "|")
}

func (d *Decoder) name(k Kind, n uint64) string {
	for _, c := range d.sets[string(k)] {
		if uint64(c.number)&(1<<32-1) == n {
			return c.name
		}
	}
	return ""
}

// Signal returns the name of a signal.
func (d *Decoder) Signal(n uint64) string {
	const firstRealTime = 32 // SIGRTMIN of the kernel
	switch {
	case n < uint64(len(d.signals)) && d.signals[n] != "":
		return d.signals[n]
	case n >= firstRealTime && n <= 64:
		return "SIGRT_" + strconv.Itoa(int(n-firstRealTime))
	}
	return strconv.FormatInt(int64(int32(n)), 10)
}

// Mode returns the mode of a file, in octal digits.
func Mode(n uint64) string { return fmt.Sprintf("%#o", n&0xffff) }

const maxError = 4095 // MAX_ERRNO

// Error returns the name of the error in a result; "": it is none. The kernel uses some numbers for calls that it begins anew after a
// signal; programs do not see these.
func (d *Decoder) Error(result int64) string {
	n := -result
	if n <= 0 || n > maxError {
		return ""
	}
	switch n {
	case 512:
		return "ERESTARTSYS"
	case 513:
		return "ERESTARTNOINTR"
	case 514:
		return "ERESTARTNOHAND"
	case 516:
		return "ERESTART_RESTARTBLOCK"
	}
	if int(n) < len(d.errors) && d.errors[n] != "" {
		return d.errors[n]
	}
	return "error " + strconv.FormatInt(n, 10)
}

// ABI returns what 32-bit code of a machine is called.
func ABI(machine string) string {
	if machine == "aarch64" {
		return "arm"
	}
	return "i386"
}
