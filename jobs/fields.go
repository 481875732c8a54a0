package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Details are parts of a definition, by field. They print as the names of the fields, whatever
// prints them: specs are logged.
type Details map[string]string

// Format prints the names, whatever the verb.
func (d Details) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, slices.Sorted(maps.Keys(d))) }

// Fields returns the text of each field of the definition, by its name in a configuration file:
// what [Spec].Details holds, or else its Definition. It leaves out fields without a value or a
// meaning for this job.
func (j *Job) Fields() map[string]string {
	s := normal(j.spec)
	fields := map[string]string{
		"retry.backoff": s.Retry.Backoff.String(), "retry.max_backoff": s.Retry.MaxBackoff.String(),
		"groups": strings.Join(s.Groups, ", "),
	}
	if s.History != 0 { // not the default
		fields["history"] = strconv.Itoa(s.History)
	}
	if s.HistoryBytes != 0 {
		fields["history_bytes"] = strconv.Itoa(s.HistoryBytes)
	}
	if s.MaxConcurrent != 0 {
		fields["max_concurrent"] = strconv.Itoa(s.MaxConcurrent)
	}
	if s.Paused {
		fields["paused"] = "true"
	}
	if s.Leader {
		fields["leader"] = "true"
	} else {
		maps.Copy(fields, map[string]string{
			"schedule": s.Schedule, "timezone": s.Timezone, "timeout": s.Timeout.String(),
			"retry.max_attempts": strconv.Itoa(s.Retry.MaxAttempts), "delivery": string(s.Delivery), "max_takeovers": strconv.Itoa(s.MaxTakeovers),
			"overlap": string(s.Overlap), "misfire_grace": s.MisfireGrace.String(), "misfire": string(s.Misfire),
			"catch_up_window": s.CatchUpWindow.String(), "max_catch_up": strconv.Itoa(s.MaxCatchUp), "jitter": s.Jitter.String(),
		})
		if !s.Rate.IsZero() {
			fields["rate"], fields["burst"] = fmt.Sprint(s.Rate), strconv.Itoa(s.Burst)
		}
	}
	if len(s.Details) > 0 {
		maps.Copy(fields, s.Details)
	} else {
		fields["definition"] = s.Definition
	}
	maps.DeleteFunc(fields, func(_, value string) bool { return value == "" })
	return fields
}
