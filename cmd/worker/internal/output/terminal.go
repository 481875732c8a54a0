package output

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colours reports whether w is a terminal that shows colours. NO_COLOR in the environment prevents
// it.
func Colours(w io.Writer, env func(string) (string, bool)) bool {
	value, _ := env("NO_COLOR")
	return value == "" && IsTerminal(w)
}
