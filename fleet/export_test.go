package fleet

import "time"

// Question is all that an explanation depends on.
type Question = question

// Explain answers a question.
func Explain(q Question) Explanation { return explain(q) }

// HideOlder makes f hide outcomes that were settled longer ago.
func (f *Fleet) HideOlder(age time.Duration) { f.age = age }
