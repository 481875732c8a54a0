// Package wording makes sentences of formats, so that one place can have them in another language.
package wording

import "fmt"

// Wording returns the format that stands for an English one, as of package fmt, in another
// language. Its verbs are those of the English one, where they have changed places with their
// indexes, as in "%[2]s %[1]s". A nil Wording, and one that returns "", leave the English.
type Wording func(english string) string

// Say returns a sentence, or a part of one.
func (w Wording) Say(english string, args ...any) string {
	format := english
	if w != nil {
		if other := w(english); other != "" {
			format = other
		}
	}
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}
