package redislease

import (
	"strconv"
	"sync"
)

// arguments collects the arguments of a command as one text, so that many of them cost as few
// allocations as one.
type arguments struct {
	text []byte
	list []span
}

// span is where an argument is in the text.
type span struct{ from, to int }

var argumentsPool = sync.Pool{New: func() any { return new(arguments) }}

func (a *arguments) add(s string) { a.set(a.reserve(), s) }

func (a *arguments) bytes(b []byte) {
	from := len(a.text)
	a.text = append(a.text, b...)
	a.list = append(a.list, span{from, len(a.text)})
}

func (a *arguments) number(n int64) {
	from := len(a.text)
	a.text = strconv.AppendInt(a.text, n, 10)
	a.list = append(a.list, span{from, len(a.text)})
}

// digits adds a stamp or a time in microseconds, as lua/values.lua compares them.
func (a *arguments) digits(n int64) {
	from := len(a.text)
	a.text = appendDigits(a.text, n)
	a.list = append(a.list, span{from, len(a.text)})
}

// reserve adds an argument that is set later.
func (a *arguments) reserve() int {
	a.list = append(a.list, span{})
	return len(a.list) - 1
}

func (a *arguments) set(i int, s string) {
	from := len(a.text)
	a.text = append(a.text, s...)
	a.list[i] = span{from, len(a.text)}
}

// appendTo appends the arguments to those of a command.
func (a *arguments) appendTo(args []any) []any {
	all := string(a.text)
	for _, s := range a.list {
		args = append(args, all[s.from:s.to])
	}
	return args
}

// appendDigits writes a number with at least 16 digits.
func appendDigits(b []byte, n int64) []byte {
	for least := int64(1e15); n < least && least > 1; least /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, n, 10)
}
