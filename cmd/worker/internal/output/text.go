package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lines makes the lines of a text from elsewhere fit for a terminal, each as Line does.
func Lines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	for i, line := range lines {
		lines[i] = Line(line)
	}
	return strings.Join(lines, "\n")
}

// Line makes a text from elsewhere fit for a terminal: without control characters, which might do anything to it.
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

// Count returns a number and what it counts, with an s unless it is one.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// List shows some of many names.
func List(names []string) string {
	const most = 20
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
