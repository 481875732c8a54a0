package jobs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/durations"
)

// Rate is how often something may happen: Count times in each Per. The zero Rate is no limit.
type Rate struct {
	Count int           // at least 1
	Per   time.Duration // above 0s, at most 8760h (365 days), and at least 1ms for each of Count
}

const (
	maxBurst   = 1_000_000
	longestPer = 365 * 24 * time.Hour
	rateRule   = "must be a count and a time, such as 1/10m: a count of at least 1, a time of at most 8760h (365 days), " +
		"and at least 1ms for each of the count"
)

// ParseRate reads a rate as the configuration file spells it: a count, a slash and a Go duration,
// such as 1/10m. The empty string is the zero Rate. The error is a [*Fault] of the field rate.
func ParseRate(s string) (Rate, error) {
	if s == "" {
		return Rate{}, nil
	}
	count, per, _ := strings.Cut(s, "/")
	n, countErr := strconv.ParseUint(count, 10, strconv.IntSize-1)
	d, perErr := time.ParseDuration(per)
	r := Rate{Count: int(n), Per: d}
	if countErr != nil || perErr != nil || !r.valid() {
		return Rate{}, &Fault{Field: "rate", Value: s, Rule: rateRule}
	}
	return r, nil
}

// IsZero reports whether r is no limit.
func (r Rate) IsZero() bool { return r == Rate{} }

// Every returns Per divided by Count; 0 for the zero Rate.
func (r Rate) Every() time.Duration { return r.Per / time.Duration(max(r.Count, 1)) }

// String returns what [ParseRate] reads: "1/10m", and "" for the zero Rate.
func (r Rate) String() string {
	if r.IsZero() {
		return ""
	}
	return fmt.Sprintf("%d/%s", r.Count, durations.Short(r.Per))
}

// MarshalText returns String.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is [ParseRate]. It leaves r as it was if that fails.
func (r *Rate) UnmarshalText(text []byte) error {
	parsed, err := ParseRate(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// valid reports whether r is a limit within the ranges of its fields.
func (r Rate) valid() bool {
	return r.Count >= 1 && r.Per <= longestPer && r.Every() >= time.Millisecond
}
