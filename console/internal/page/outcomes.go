package page

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// outcomes are those of the legend.
var outcomes = []protocol.Outcome{wire.Succeeded, wire.Failed, wire.Skipped, wire.Missed, wire.Lost, wire.Replaced, wire.Cancelled}

// Outcomes returns the outcomes for a legend.
func (f *frame) Outcomes() []protocol.Outcome { return outcomes }

// shapes has the symbol of each outcome, state and kind that a page shows; the sprite in parts.html
// draws them.
var shapes = map[string]string{
	"succeeded": "succeeded", "failed": "failed", "skipped": "skipped", "missed": "missed", "lost": "lost", "replaced": "replaced",
	"cancelled": "cancelled", "running": "running", "waiting": "waiting", "free": "waiting", "retrying": "waiting", "paused": "paused", "takeover": "takeover",
	"coming": "planned", "future": "planned", "gap": "unknown", "undecided": "waiting", "cancelling": "cancelled", "warning": "warning",
	"expired": "lost", "released": "takeover",
}

// shapeOf returns the symbol for a word.
func shapeOf(word string) string {
	if shape, ok := shapes[word]; ok {
		return shape
	}
	return "unknown"
}

// Class returns the class that colours an outcome or a state.
func (f *frame) Class(word any) string { return shapeOf(fmt.Sprint(word)) }

// Shape draws the symbol of an outcome or a state, beside its word.
func (f *frame) Shape(word any) template.HTML {
	return template.HTML(`<svg width="14" height="14" aria-hidden="true"><use href="#s-` + shapeOf(fmt.Sprint(word)) + `"/></svg>`) //nolint:gosec // shapeOf returns one of its own words
}

// Strip draws the newest outcomes of a job, the newest at the right.
func (f *frame) Strip(list []protocol.Outcome) template.HTML {
	if len(list) == 0 {
		return ""
	}
	const step = 15
	counts := map[string]int{}
	var marks strings.Builder
	for i, outcome := range list {
		shape := shapeOf(string(outcome))
		counts[shape]++
		fmt.Fprintf(&marks, `<use href="#s-%s" class="%s" x="%d" y="4" width="12" height="12"/>`, shape, shape, i*step)
	}
	return template.HTML(fmt.Sprintf(`<svg class="strip" width="%d" height="20" role="img" aria-label="%s">%s</svg>`, //nolint:gosec // of words of our own
		len(list)*step, template.HTMLEscapeString(f.T("The last %d: %s", len(list), counted(f, counts))), marks.String()))
}

// counted writes how many there are of each outcome.
func counted[K ~string](f *frame, counts map[K]int) string {
	var list []string
	for _, outcome := range outcomes {
		if n := counts[K(outcome)]; n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, f.Word(outcome, "outcome")))
		}
	}
	return strings.Join(list, f.T(", "))
}
