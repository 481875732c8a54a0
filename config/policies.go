package config

import (
	"errors"
	"strconv"
	"strings"

	"github.com/solotick/solotick/jobs"
)

// policies are the fields of a spec as a mapping of the file gives them, and where it does.
type policies struct {
	base string           // the path of the mapping
	at   map[string]value // by the names that jobs.Fault uses, such as retry.backoff
	bad  map[string]bool  // fields that have a fault already, so that what the spec holds is not what was meant
}

func newPolicies(base string) *policies {
	return &policies{base: base, at: map[string]value{}, bad: map[string]bool{}}
}

// note returns a reader of a field that remembers where the field is written.
func (p *policies) note(read func(value) bool) func(value) {
	return func(v value) {
		field := strings.TrimPrefix(v.path, p.base+".")
		p.at[field] = v
		if !read(v) {
			p.bad[field] = true
		}
	}
}

// policyKeys are the keys that jobs and defaults share.
func (r *reader) policyKeys(spec *jobs.Spec, p *policies) keys {
	return keys{
		"timezone": p.note(func(v value) bool { return readString(r, v, &spec.Timezone) }),
		"timeout":  p.note(func(v value) bool { return r.duration(v, &spec.Timeout) }),
		"retry": func(v value) {
			r.fields(v, keys{
				"max_attempts": p.note(func(v value) bool { return r.integer(v, &spec.Retry.MaxAttempts) }),
				"backoff":      p.note(func(v value) bool { return r.duration(v, &spec.Retry.Backoff) }),
				"max_backoff":  p.note(func(v value) bool { return r.duration(v, &spec.Retry.MaxBackoff) }),
			})
		},
		"delivery":        p.note(func(v value) bool { return readString(r, v, &spec.Delivery) }),
		"max_takeovers":   p.note(func(v value) bool { return r.integer(v, &spec.MaxTakeovers) }),
		"overlap":         p.note(func(v value) bool { return readString(r, v, &spec.Overlap) }),
		"misfire_grace":   p.note(func(v value) bool { return r.duration(v, &spec.MisfireGrace) }),
		"misfire":         p.note(func(v value) bool { return readString(r, v, &spec.Misfire) }),
		"catch_up_window": p.note(func(v value) bool { return r.duration(v, &spec.CatchUpWindow) }),
		"max_catch_up":    p.note(func(v value) bool { return r.integer(v, &spec.MaxCatchUp) }),
		"jitter":          p.note(func(v value) bool { return r.duration(v, &spec.Jitter) }),
		"rate":            p.note(func(v value) bool { return r.rate(v, &spec.Rate) }),
		"burst":           p.note(func(v value) bool { return r.integer(v, &spec.Burst) }),
		"groups":          func(v value) { r.groups(v, &spec.Groups) },
		"weight":          p.note(func(v value) bool { return r.integer(v, &spec.Weight) }),
		"history":         p.note(func(v value) bool { return r.integer(v, &spec.History) }),
		"paused":          p.note(func(v value) bool { return r.boolean(v, &spec.Paused) }),
	}
}

// rate reads a rate; the empty string is none, as the absent key is.
func (r *reader) rate(v value, to *jobs.Rate) bool {
	t, ok := r.text(v, "a rate such as 1/10m")
	if !ok {
		return false
	}
	rate, err := jobs.ParseRate(t.string)
	if fault, is := errors.AsType[*jobs.Fault](err); is {
		r.fault(v, "%s", fault.Rule)
		return false
	}
	*to = rate
	return true
}

// partner is the other field of each rule that relates two.
var partner = map[string]string{
	"retry.max_backoff": "retry.backoff",
	"jitter":            "schedule",
}

// related returns the field whose value decides whether field's is right, "" if none does.
func related(spec jobs.Spec, field string) string {
	if field == "jitter" && spec.Jitter < 0 {
		return "" // wrong with any schedule
	}
	return partner[field]
}

// specFaults checks a job's spec and notes each fault where its cause is written: in the job, in the defaults that it
// inherits, or at the job for what is in neither.
func (r *reader) specFaults(job value, spec jobs.Spec, own, inherited *policies) {
	for _, fault := range faultsOf(spec) {
		field, other := fault.Field, related(spec, fault.Field)
		if own.bad[field] || own.bad[other] || inherited.bad[field] && !own.has(field) || inherited.bad[other] && !own.has(other) {
			continue
		}
		cause, path, note := job, join(job.path, field), ""
		switch {
		case own.has(field):
			cause = own.at[field]
		case own.has(other):
			cause = own.at[other]
			note = "; that is its default"
			if inherited.has(field) {
				note = "; it comes from defaults, line " + strconv.Itoa(inherited.at[field].line)
			}
		case inherited.has(field):
			cause, path = inherited.at[field], join(inherited.base, field)
		case inherited.has(other):
			note = "; that is its default"
			cause, path = inherited.at[other], join(inherited.base, field)
		}
		r.specFault(cause, path, fault, note, own, inherited)
	}
}

// goWords says what a file has for what a program calls.
var goWords = strings.NewReplacer("jobs.WithTimezone", "timezone")

func (r *reader) specFault(cause value, path string, fault *jobs.Fault, note string, own, inherited *policies) {
	written, rule := mention(fault.Value), goWords.Replace(fault.Rule)
	for _, p := range []*policies{inherited, own} {
		if v, ok := p.at[fault.Field]; ok {
			written = v.written()
			if fault.Field == "schedule" && r.expands(v) {
				// The rule may quote the schedule, which errors show as the file has it.
				rule = "does not make a schedule with these values of the environment; one is \"0 2 * * *\", @hourly or @every 90s"
			}
		}
	}
	r.add(cause.line, cause.column, path, written, rule+note)
}

// has reports whether field is written.
func (p *policies) has(field string) bool {
	_, ok := p.at[field]
	return ok
}

// faultsOf returns what jobs finds wrong with spec.
func faultsOf(spec jobs.Spec) []*jobs.Fault {
	var all []*jobs.Fault
	var collect func(error)
	collect = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				collect(e)
			}
		} else if fault, ok := errors.AsType[*jobs.Fault](err); ok {
			all = append(all, fault)
		}
	}
	collect(spec.Validate())
	return all
}
