package config

import "strings"

// log reads a job's message. What it returns is sound only if no fault was noted.
func (r *reader) log(v value) *Log {
	l := &Log{}
	hasMessage := false
	ok := r.fields(v, keys{
		"message": func(v value) {
			hasMessage = true
			if readString(r, v, &l.Message) && strings.TrimSpace(l.Message) == "" {
				r.fault(v, "must not be blank")
			}
		},
	})
	if ok && !hasMessage {
		r.missing(v, "message", "add what to log")
	}
	return l
}
