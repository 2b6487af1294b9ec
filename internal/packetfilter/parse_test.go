package packetfilter

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func testNames() Names {
	return Names{
		Host: func(name string) ([]netip.Addr, error) {
			if name != "server" {
				return nil, errors.New("unknown")
			}
			return []netip.Addr{netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("::7")}, nil
		},
		Port: func(name string) (uint16, error) {
			if name != "https" {
				return 0, errors.New("unknown")
			}
			return 443, nil
		},
	}
}

func TestNamesAreLookedUp(t *testing.T) {
	for _, text := range []string{"host server and port https", "ip6 host server", "portrange https-500"} {
		if _, err := Parse(text, testNames()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What cannot be compiled is refused with a sentence that names the word.
func TestWrongExpressionsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "empty",
		"tcp port":                      "ends where the name or number of a port is expected",
		"tcp port 99999":                `"99999" is not a port`,
		"port nothing":                  "/etc/services",
		"host nowhere":                  `"nowhere" is neither an address`,
		"nonsense":                      `"nonsense" is neither an address`,
		"tcp port 80 udp":               `"udp" is not expected after "80"`,
		"(tcp":                          `")" is expected`,
		"tcp)":                          `")" is not expected`,
		"tcp and":                       "ends where a condition is expected",
		"and tcp":                       `"and" is`,
		"7":                             `"7" is a number`,
		"tcp[0]":                        "is a number",
		"tcp = 1":                       "a condition where a number is expected",
		"tcp[0:3] = 1":                  "1, 2 or 4",
		"tcp[999999999999] = 1":         `the index of a byte of tcp: "999999999999" is out of range: numbers are 0 to 4294967295`,
		"tcp[0] = 0x100000000":          `"0x100000000" is out of range`,
		"less 99999999999":              `"99999999999" is out of range`,
		"vlan 99999999999":              `"99999999999" is out of range`,
		"dns[0] = 1":                    `"dns" is not a protocol`,
		"ip[0] / 0 = 1":                 "divides by 0",
		"ip[0] << 32 = 1":               "shifts",
		"gateway here":                  `"gateway" of pcap-filter(7) is not supported`,
		"mpls":                          `"mpls" of pcap-filter(7) is not supported`,
		"ip protochain 6":               `"protochain" of pcap-filter(7) is not supported`,
		"ip broadcast":                  "needs the mask",
		"ip port 80":                    `"ip" has no ports`,
		"tcp host 10.0.0.1":             `"tcp" has no addresses`,
		"ip host ::1":                   "::1 is not an address of ip",
		"net 10.0.0.1/8":                "write it as 10.0.0.0/8",
		"net 10.0.0.0/33":               "0 to 32 bits",
		"net 10.0.0.0 mask 255.0.255.0": "ones behind zeros",
		"ether host 1:2":                "not an address of Ethernet",
		"vlan 4096":                     "not the id of a VLAN",
		"proto nothing":                 "neither a protocol",
		"tcp port 80; rm":               `";" does not belong`,
		"tcp \x00":                      "does not belong",
		strings.Repeat("(", 1000):       "nested deeper",
		strings.Repeat("not ", 1000):    "nested deeper",
		strings.Repeat("tcp or ", 1000): "4096 are possible",
		"1 + (1 + (1 + ip[" + strings.Repeat("len + (1 * len - (", 9) + "1" + strings.Repeat("))", 9) + "])) = 1": "more numbers",
	} {
		if n, err := Parse(text, testNames()); err == nil {
			t.Errorf("%.40s is accepted: %v", text, n)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
	}
}

// An expression never makes the parser panic or take long, and what it accepts is bounded.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"tcp port 443 and host 10.0.0.1", "tcp[((tcp[12] & 0xf0) >> 2):4] = 1 or not (udp)", "port (80 or 443)", "src or dst net 10.1 mask", "not vlan 3 && ip6[6]/2<3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(text, testNames())
		if (n == nil) == (err == nil) {
			t.Errorf("%q: %v, %v", text, n, err)
		}
		if err == nil && numbersKept(n) > MostKept {
			t.Errorf("%q keeps too many numbers", text)
		}
	})
}
