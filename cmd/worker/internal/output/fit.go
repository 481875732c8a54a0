package output

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// leastColumn is how narrow fit makes a column at most.
const leastColumn = 8

// fit shortens the cells of the widest columns, those of times last, until the table's lines have at most so many
// characters.
func (t *Table) fit(width int) {
	widths := t.widths()
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	times := []string{"NEXT", "LAST", "SUCCESS", "TICK", "IN", "WHEN", "STARTED", "HEARTBEAT"}
	shorten := func(column func(i int) bool) {
		for ; total > width; total-- {
			widest := -1
			for i, w := range widths {
				if column(i) && w > leastColumn && (widest < 0 || w > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				return
			}
			widths[widest]--
		}
	}
	shorten(func(i int) bool { return !slices.Contains(times, t.rows[0][i].Text) })
	shorten(func(int) bool { return true })
	for _, row := range t.rows {
		for i := range row {
			row[i].Text = shortened(row[i].Text, widths[i])
		}
	}
	for i, n := range t.notes {
		t.notes[i].Text = Wrap(n.Text, width)
	}
}

// shortened cuts a text to so many characters, the last of them an ellipsis.
func shortened(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:most-1]), " ,;") + "…"
}

// Wrap breaks a text at spaces into lines of at most so many characters, where that is possible.
func Wrap(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if utf8.RuneCountInString(line) > width-NoteIndent { // else its columns stay as they are
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
		case length+1+n > width-NoteIndent:
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
