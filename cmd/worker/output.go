package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/lease/protocol"
)

// output is what a command prints: text or json.
type output string

const (
	asText output = "text"
	asJSON output = "json"
)

func (o *output) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(o), "output", string(asText), "text or json")
}

func (o output) check() error {
	if o != asText && o != asJSON {
		return fmt.Errorf("--output: %q must be text or json", string(o))
	}
	return nil
}

// printJSON prints v on several lines.
func (c *cli) printJSON(v any) error {
	encoder := json.NewEncoder(c.stdout)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// style is how a terminal shows something.
type style string

const (
	plain  style = ""
	bold   style = "1"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// cell is one field of a table.
type cell struct {
	text  string
	style style
}

// table is columns under headings: two spaces apart, with a hyphen for what is empty.
type table struct {
	rows  [][]cell
	notes []footnote
}

// footnote is a text that stands under a row, indented.
type footnote struct {
	row int
	cell
}

// noteIndent is how far.
const noteIndent = 4

func newTable(headings ...string) *table {
	t := &table{}
	row := make([]cell, len(headings))
	for i, h := range headings {
		row[i] = cell{h, bold}
	}
	t.rows = append(t.rows, row)
	return t
}

func (t *table) add(row ...cell) { t.rows = append(t.rows, row) }

// remark adds a note to the row that was added last, unless it is empty.
func (t *table) remark(text string, s style) {
	if text != "" {
		t.notes = append(t.notes, footnote{len(t.rows) - 1, cell{harmless(text), s}})
	}
}

// widths returns how wide each column is, and makes the cells fit to be printed.
func (t *table) widths() []int {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i := range row {
			row[i].text = oneLine(row[i].text)
			if row[i].text == "" && i < len(row)-1 {
				row[i].text = "-"
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	return widths
}

// text returns the table, with colours or without.
func (t *table) text(colours bool) string {
	widths := t.widths()
	var b strings.Builder
	for n, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(paint(c.text, c.style, colours))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", 2+widths[i]-utf8.RuneCountInString(c.text)))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
		for _, f := range t.notes {
			if f.row != n {
				continue
			}
			for text := range strings.SplitSeq(f.text, "\n") {
				b.WriteString(strings.Repeat(" ", noteIndent) + paint(text, f.style, colours) + "\n")
			}
		}
	}
	return b.String()
}

func paint(text string, s style, colours bool) string {
	if !colours || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// harmless makes the lines of a text from elsewhere fit for a terminal, each as oneLine does.
func harmless(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	for i, line := range lines {
		lines[i] = oneLine(line)
	}
	return strings.Join(lines, "\n")
}

// oneLine makes a text from elsewhere fit for a terminal: without control characters, which might do anything to it.
func oneLine(text string) string {
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

// colours tells whether w is a terminal that wants them, which NO_COLOR in the environment prevents.
func (c *cli) colours(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false
	}
	value, _ := c.env("NO_COLOR")
	return value == ""
}

// printed is how next and the others print a time.
const printed = "2006-01-02 15:04:05 -0700"

// local tells a time in a zone, with milliseconds where it has any; empty for the zero time.
func local(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	layout := printed
	if t.UnixMilli()%1000 != 0 {
		layout = strings.Replace(layout, ":05", ":05.000", 1)
	}
	return t.In(zone).Format(layout)
}

// brief tells a time as local does to the second, without the date where that is the one of another time.
func brief(t, other time.Time, zone *time.Location) string {
	const day = time.DateOnly + " -0700"
	switch {
	case t.IsZero():
		return ""
	case t.In(zone).Format(day) == other.In(zone).Format(day):
		return t.In(zone).Format("15:04:05.000")
	}
	return t.In(zone).Format(printed)
}

// tickOfDay tells a tick exactly, without the date on the day of now.
func tickOfDay(t, now time.Time, zone *time.Location) string {
	text, today := local(t, zone), now.In(zone).Format(time.DateOnly+" ")
	if rest, ok := strings.CutPrefix(text, today); ok {
		text, _, _ = strings.Cut(rest, " ")
	}
	return text
}

// verdict is an entry's outcome, or what the tick is doing.
func verdict(e fleet.Entry) cell {
	if e.State != fleet.Settled {
		return cell{stateWords(e.State), cyan}
	}
	return cell{fleet.Words(string(e.Outcome)), outcomeStyle(e.Outcome)}
}

// stateWords says what an open tick does.
func stateWords(s fleet.State) string {
	if s == fleet.Free {
		return "awaits takeover"
	}
	return string(s)
}

func outcomeStyle(o protocol.Outcome) style {
	switch o {
	case "succeeded":
		return green
	case "failed", protocol.OutcomeLost:
		return red
	case "released":
		return plain
	default:
		return yellow
	}
}
