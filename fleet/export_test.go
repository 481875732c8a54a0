package fleet

// Question is all that an explanation depends on.
type Question = question

// Explain answers a question.
func Explain(q Question) Explanation { return explain(q) }
