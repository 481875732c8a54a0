package render

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// minColumn is the width below which fit does not shorten a column.
const minColumn = 8

// fit shortens the cells of the widest columns until no row is wider than width. It shortens
// columns of times last.
func (t *Table) fit(width int) {
	widths := t.widths()
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	times := []string{"NEXT", "LAST", "SUCCESS", "TICK", "IN", "WHEN", "STARTED", "HEARTBEAT"}
	narrow := func(column func(i int) bool) {
		for ; total > width; total-- {
			widest := -1
			for i, w := range widths {
				if column(i) && w > minColumn && (widest < 0 || w > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				return
			}
			widths[widest]--
		}
	}
	narrow(func(i int) bool { return !slices.Contains(times, t.rows[0][i].Text) })
	narrow(func(int) bool { return true })
	for _, row := range t.rows {
		for i := range row {
			row[i].Text = shorten(row[i].Text, widths[i])
		}
	}
	for i, n := range t.notes {
		t.notes[i].Text = Wrap(n.Text, width-noteIndent)
	}
}

// shorten cuts a text to limit characters, the last of them an ellipsis.
func shorten(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:limit-1]), " ,;") + "…"
}

// Wrap breaks each line of a text at spaces, so that it has at most width characters. Long
// words stay whole.
func Wrap(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if utf8.RuneCountInString(line) > width { // else its alignment stays
			lines[i] = wrappedLine(line, width)
		}
	}
	return strings.Join(lines, "\n")
}

func wrappedLine(text string, width int) string {
	var b strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case length+1+n > width:
			b.WriteByte('\n')
			length = 0
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += n
	}
	return b.String()
}
