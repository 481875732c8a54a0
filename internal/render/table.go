// Package render makes text of what a fleet says: tables and named facts. The command line prints
// them for people in a terminal, or in full for programs; the console answers with the same as
// plain text.
package render

import (
	"slices"
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

// Paint returns a text in a style.
func Paint(text string, s Style, colours bool) string {
	if !colours || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Cell is one field of a table.
type Cell struct {
	Text  string
	Style Style
}

// Column is a further column of a table: its heading, and a text for each row.
type Column struct {
	Heading string
	Texts   []string
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
	t.Add(Row(headings...)...)
	for i := range t.rows[0] {
		t.rows[0][i].Style = Bold
	}
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

// Insert adds columns before the column at.
func (t *Table) Insert(at int, columns []Column) {
	for i := range t.rows {
		for n, c := range columns {
			cell := Cell{Text: c.Heading, Style: Bold}
			if i > 0 {
				cell = Cell{Text: c.Texts[i-1]}
			}
			t.rows[i] = slices.Insert(t.rows[i], at+n, cell)
		}
	}
}

// Note adds a note under the newest row. An empty text adds none.
func (t *Table) Note(text string, s Style) {
	if text != "" {
		t.notes = append(t.notes, footnote{len(t.rows) - 1, Cell{Text: Lines(text), Style: s}})
	}
}

// Sparse leaves out the columns that are empty in every row, and the headings of no rows.
func (t *Table) Sparse() *Table {
	if len(t.rows) < 2 {
		return &Table{}
	}
	for i := range slices.Backward(t.rows[0]) {
		if slices.ContainsFunc(t.rows[1:], func(row []Cell) bool { return row[i].Text != "" }) {
			continue
		}
		for n := range t.rows {
			t.rows[n] = slices.Delete(t.rows[n], i, i+1)
		}
	}
	return t
}

// widths returns the width of each column in characters. It also makes the cells safe to print.
func (t *Table) widths() []int {
	var widths []int
	for n, row := range t.rows {
		if n == 0 {
			widths = make([]int, len(row))
		}
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

// Text returns the table as v shows it: for people, it fits into the width.
func (t *Table) Text(v View) string {
	if v.Human {
		t.fit(v.Width)
	}
	widths := t.widths()
	var b strings.Builder
	for n, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(Paint(c.Text, c.Style, v.Colours))
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
				b.WriteString(strings.Repeat(" ", noteIndent) + Paint(text, f.Style, v.Colours) + "\n")
			}
		}
	}
	return b.String()
}

// Facts are named lines, the names in a column of their own.
type Facts []fact

type fact struct {
	name  string
	lines []string
}

// nameWidth is the width of the column of names.
const nameWidth = 14

// Add adds the lines of a name. Empty ones are left out.
func (f *Facts) Add(name string, lines ...string) {
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	*f = append(*f, fact{name, lines})
}

// Text returns the facts as v shows them: for people, wrapped at the width.
func (f Facts) Text(v View) string {
	var b strings.Builder
	for _, fact := range f {
		name := fact.name
		for _, line := range fact.lines {
			if line = Line(line); v.Human {
				line = strings.ReplaceAll(Wrap(line, v.Width-nameWidth), "\n", "\n"+strings.Repeat(" ", nameWidth))
			}
			b.WriteString(strings.TrimRight(name+strings.Repeat(" ", nameWidth-len(name))+line, " ") + "\n")
			name = ""
		}
	}
	return b.String()
}
