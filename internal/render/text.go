package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lines makes each line of a text safe to print, as Line does.
func Lines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	for i, line := range lines {
		lines[i] = Line(line)
	}
	return strings.Join(lines, "\n")
}

// Line makes a text on one line that is safe to print: control characters could change the
// terminal.
func Line(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Cf, r):
			return '?'
		}
		return r
	}, text)
}

// Count returns a number and its noun, with an s unless the number is 1.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// List joins names. It shows the first 20, and the number of the others.
func List(names []string) string {
	const limit = 20
	if len(names) > limit {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
	}
	return strings.Join(names, ", ")
}

// Units of bytes.
const (
	KiB = 1 << 10
	MiB = 1 << 20
)

// Bytes formats a number of bytes in its largest unit, with one decimal unless that is 0.
func Bytes(n int) string {
	unit, name := 1, "B"
	switch {
	case n >= MiB:
		unit, name = MiB, "MiB"
	case n >= KiB:
		unit, name = KiB, "KiB"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(unit)), ".0") + " " + name
}
