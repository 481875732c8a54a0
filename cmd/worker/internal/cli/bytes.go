package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// bytesFlag is a number of bytes: 512, 64KiB, 16MiB.
type bytesFlag int

const kibi, mebi = 1 << 10, 1 << 20

// String returns b in its largest unit, with one decimal unless that is 0.
func (b bytesFlag) String() string {
	unit, name := 1, "B"
	switch {
	case b >= mebi:
		unit, name = mebi, "MiB"
	case b >= kibi:
		unit, name = kibi, "KiB"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(b)/float64(unit)), ".0") + " " + name
}

// Set implements pflag.Value.
func (b *bytesFlag) Set(text string) error {
	digits, unit := text, 1
	if cut, ok := strings.CutSuffix(text, "MiB"); ok {
		digits, unit = cut, mebi
	} else if cut, ok := strings.CutSuffix(text, "KiB"); ok {
		digits, unit = cut, kibi
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 || n > 1<<31/uint64(unit) {
		return fmt.Errorf("%q must be a number of bytes such as 65536, 64KiB or 16MiB", text)
	}
	*b = bytesFlag(n) * bytesFlag(unit)
	return nil
}

// Type implements pflag.Value.
func (b *bytesFlag) Type() string { return "BYTES" }
