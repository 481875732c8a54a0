package fleet

import (
	"fmt"
	"regexp"
	"time"
)

// Question is all that an explanation depends on.
type Question = question

// Explain answers a question. It panics when a part of the answer has no format that another
// language could replace.
func Explain(q Question) Explanation {
	other := q
	other.said = said{masked}
	e := explain(other)
	texts := []string{e.Text, e.Remedy}
	for _, f := range e.Facts {
		texts = append(texts, f.Words(time.UTC, masked))
	}
	for _, text := range texts {
		if english := anyWords.FindString(elsewhere.ReplaceAllString(text, "")); english != "" {
			panic(fmt.Sprintf("%q stays English in another language, of %q", english, text))
		}
	}
	return explain(q)
}

var (
	letters  = regexp.MustCompile(`%(\[\d\])?[a-z]|[A-Za-z]`)
	anyWords = regexp.MustCompile(`[A-Za-z]{2,}[ ,;:.]+[a-z]{2,}`)
	// elsewhere matches what others have said: quoted, or on lines of its own; and parts of a
	// configuration.
	elsewhere = regexp.MustCompile(`"[^"]*"|\n    .*|\([a-z_]+: [a-z0-9_]+\)`)
)

// masked is a language of stars.
func masked(english string) string {
	return letters.ReplaceAllStringFunc(english, func(s string) string {
		if s[0] == '%' {
			return s
		}
		return "*"
	})
}

// HideOlder makes f hide outcomes that were settled longer ago.
func (f *Fleet) HideOlder(age time.Duration) { f.age = age }
