package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Error is one thing wrong with a configuration, in words for the person who wrote it.
type Error struct {
	File   string // as given to Parse
	Line   int    // from 1; 0 when the value did not come from a file, but from Set
	Column int    // in characters, from 1; 0 when Line is

	Field string // the path to it, such as jobs[2].retry.backoff; "" for the file as a whole
	Value string // as the file spells it, quoted, ${NAME} not replaced, secrets hidden; "" for none
	Rule  string // the rule that it breaks, and what to do
}

// Error returns file:line:column: field: value rule, without the parts that are empty.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		if e.File != "" {
			b.WriteString(e.File + ":")
		}
		b.WriteString(strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Column) + ": ")
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	if e.Value != "" {
		b.WriteString(e.Value + " ")
	}
	b.WriteString(e.Rule)
	return b.String()
}

// Errors is everything wrong with a configuration, sorted by position; never empty. Use errors.As
// to get at it.
type Errors []*Error

// Error returns one line for each error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single errors.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, err := range e {
		all[i] = err
	}
	return all
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// mention quotes what a user wrote, on one line of bearable length.
func mention(s string) string {
	const most = 80
	characters := 0
	for i := range s {
		if characters++; characters > most {
			return strconv.Quote(s[:i] + "…")
		}
	}
	return strconv.Quote(s)
}
