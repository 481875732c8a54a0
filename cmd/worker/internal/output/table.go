// Package output prints tables, times and texts: for people in a terminal, in full for programs.
package output

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Style is a colour or weight of text in a terminal.
type Style string

// The styles.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// Cell is one field of a table.
type Cell struct {
	Text  string
	Style Style
}

// Table has columns under headings, two spaces apart. An empty cell shows a hyphen.
type Table struct {
	rows  [][]Cell
	notes []footnote
}

// footnote is an indented text under a row.
type footnote struct {
	row int
	Cell
}

// noteIndent is the number of spaces before a note.
const noteIndent = 4

// NewTable returns a table with headings.
func NewTable(headings ...string) *Table {
	t := &Table{}
	row := make([]Cell, len(headings))
	for i, h := range headings {
		row[i] = Cell{Text: h, Style: Bold}
	}
	t.rows = append(t.rows, row)
	return t
}

// Row returns cells of plain texts.
func Row(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	return row
}

// Add adds a row.
func (t *Table) Add(row ...Cell) { t.rows = append(t.rows, row) }

// Note adds a note under the newest row. An empty text adds none.
func (t *Table) Note(text string, s Style) {
	if text != "" {
		t.notes = append(t.notes, footnote{len(t.rows) - 1, Cell{Text: Lines(text), Style: s}})
	}
}

// widths returns the width of each column in characters. It also makes the cells safe to print.
func (t *Table) widths() []int {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i := range row {
			row[i].Text = Line(row[i].Text)
			if row[i].Text == "" && i < len(row)-1 {
				row[i].Text = "-"
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].Text))
		}
	}
	return widths
}

// Text returns the table as text.
func (t *Table) Text(colours bool) string {
	widths := t.widths()
	var b strings.Builder
	for n, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(Paint(c.Text, c.Style, colours))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", 2+widths[i]-utf8.RuneCountInString(c.Text)))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
		for _, f := range t.notes {
			if f.row != n {
				continue
			}
			for text := range strings.SplitSeq(f.Text, "\n") {
				b.WriteString(strings.Repeat(" ", noteIndent) + Paint(text, f.Style, colours) + "\n")
			}
		}
	}
	return b.String()
}

// Paint returns a text in a style.
func Paint(text string, s Style, colours bool) string {
	if !colours || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Print writes the table to w. For people, it fits the table into the width of the view.
func (t *Table) Print(w io.Writer, v View) error {
	if v.Human {
		t.fit(v.Width)
	}
	_, err := io.WriteString(w, t.Text(v.Colours))
	return err
}
