package view

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// textWriter writes a page as text. It keeps the first error, and its text has no control
// characters but line ends.
type textWriter struct {
	w    io.Writer
	zone string // that was asked for; "" for each job's
	err  error
}

func (t *textWriter) head(h Head, what string) {
	t.linef("%s, namespace %s, fleet time %s", what, h.Namespace, t.at(h.Now, ""))
	if h.Stale != "" {
		t.linef("as read at %s: %s", t.at(h.ReadAt, ""), h.Stale)
	}
	t.line("")
}

func (t *textWriter) line(text string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, strings.TrimRight(printable(text), " ")+"\n")
	}
}

func (t *textWriter) linef(format string, args ...any) { t.line(fmt.Sprintf(format, args...)) }

// fact writes a named line; none where the value is empty.
func (t *textWriter) fact(name, value string) {
	if value != "" {
		t.linef("%-13s %s", name, value)
	}
}

// table writes rows in columns; a column that is empty in every row is left out. The first row has
// the headings.
func (t *textWriter) table(rows [][]string) {
	if t.err != nil || len(rows) < 2 {
		return
	}
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		var cells []string
		for i, cell := range row {
			if slices.ContainsFunc(rows[1:], func(other []string) bool { return other[i] != "" }) {
				cells = append(cells, printable(cell))
			}
		}
		_, _ = fmt.Fprintln(tw, strings.Join(cells, "\t")) // to memory
	}
	_ = tw.Flush()
	for line := range strings.Lines(b.String()) {
		t.line(strings.TrimRight(line, " \n"))
	}
}

// printable puts a space in place of whatever would change a terminal or a line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// at writes a time in full, in the zone that was asked for or in that of the job; "" for none.
func (t *textWriter) at(at Time, zone string) string {
	if at.IsZero() {
		return ""
	}
	layout := "2006-01-02 15:04:05 -0700"
	if at.UnixMilli()%1000 != 0 {
		layout = "2006-01-02 15:04:05.000 -0700"
	}
	return at.In(zoneOf(t.zone, zone)).Format(layout)
}

// rough writes a duration for people.
func rough(m Millis) string {
	d := m.Duration()
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 2*day:
		return short(d.Round(time.Second))
	default:
		return strconv.Itoa(int(d.Round(time.Hour)/day)) + "d"
	}
}

func states(list []State) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = wire.Words(string(s))
	}
	return strings.Join(words, ", ")
}

// letters are what a strip has for each outcome.
var letters = map[protocol.Outcome]byte{
	protocol.OutcomeSucceeded: '.', "failed": 'F', "missed": 'M', protocol.OutcomeSkipped: 's', protocol.OutcomeLost: 'L',
	protocol.OutcomeReplaced: 'r', protocol.OutcomeCancelled: 'c',
}

func strip(outcomes []protocol.Outcome) string {
	var b strings.Builder
	for _, o := range outcomes {
		if c, ok := letters[o]; ok {
			b.WriteByte(c)
		} else {
			b.WriteByte('?')
		}
	}
	return b.String()
}

func more(next string) string {
	if next == "" {
		return ""
	}
	return ", more with after=" + next
}
