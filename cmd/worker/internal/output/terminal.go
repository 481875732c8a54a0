// Package output finds out how a command prints: for people in a terminal, or for programs.
package output

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/solotick/solotick/internal/render"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// The width of a terminal that does not report one, and the least that tables use.
const defaultWidth, minWidth = 120, 80

// NewView returns the view of w. NO_COLOR in the environment prevents colours.
func NewView(w io.Writer, env func(string) (string, bool)) render.View {
	if !IsTerminal(w) {
		return render.View{}
	}
	noColour, _ := env("NO_COLOR")
	v := render.View{Human: true, Colours: noColour == "", Width: defaultWidth}
	if width, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil && width > 0 {
		v.Width = max(width, minWidth)
	}
	return v
}
