package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

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
		row[i] = cell{text: h, style: bold}
	}
	t.rows = append(t.rows, row)
	return t
}

// textRow returns a row of plain texts.
func textRow(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, text := range texts {
		row[i].text = text
	}
	return row
}

func (t *table) add(row ...cell) { t.rows = append(t.rows, row) }

// remark adds a note to the row that was added last, unless it is empty.
func (t *table) remark(text string, s style) {
	if text != "" {
		t.notes = append(t.notes, footnote{len(t.rows) - 1, cell{text: harmless(text), style: s}})
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

// print writes the table to w, within the width of the view.
func (t *table) print(w io.Writer, v view) error {
	if v.human {
		t.fit(v.width)
	}
	_, err := io.WriteString(w, t.text(v.colours))
	return err
}
