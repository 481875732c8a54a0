package schedule

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/robfig/cron/v3"
)

// field is one place of a cron expression.
type field struct {
	name     string
	place    cron.ParseOption // the parser of this field alone
	bits     func(*cron.SpecSchedule) uint64
	min, max int
	names    []string // of the values from min; nil when they have none
	hashMax  int      // the highest value that a bare H stands for
}

var fields = [6]field{
	{
		name: "second", place: cron.Second, min: 0, max: 59, hashMax: 59,
		bits: func(s *cron.SpecSchedule) uint64 { return s.Second },
	},
	{
		name: "minute", place: cron.Minute, min: 0, max: 59, hashMax: 59,
		bits: func(s *cron.SpecSchedule) uint64 { return s.Minute },
	},
	{
		name: "hour", place: cron.Hour, min: 0, max: 23, hashMax: 23,
		bits: func(s *cron.SpecSchedule) uint64 { return s.Hour },
	},
	{
		// Every month has a 28th, so a job spread by H runs in each of them.
		name: "day of month", place: cron.Dom, min: 1, max: 31, hashMax: 28,
		bits: func(s *cron.SpecSchedule) uint64 { return s.Dom },
	},
	{
		name: "month", place: cron.Month, min: 1, max: 12, hashMax: 12,
		bits:  func(s *cron.SpecSchedule) uint64 { return s.Month },
		names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"},
	},
	{
		name: "day of week", place: cron.Dow, min: 0, max: 6, hashMax: 6,
		bits:  func(s *cron.SpecSchedule) uint64 { return s.Dow },
		names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"},
	},
}

const starBit = 1 << 63 // set by cron's parser in a field that restricts nothing

// startsWithStar reports whether a minute or hour field makes its spec a wildcard spec. H/15 is
// */15 with a shift of the job's own, so it counts; H and H(0-29)/10 are values, so they do not.
func startsWithStar(text string) bool {
	return strings.HasPrefix(text, "*") || strings.HasPrefix(text, "?") ||
		strings.HasPrefix(strings.ToUpper(text), "H/")
}

// fieldReader turns the text of one field into bits. It rewrites each item of the list into the
// plain numbers that cron's parser reads as everybody expects. It refuses items that the parser
// lets through: empty ones, "*-5", signs.
type fieldReader struct {
	*field
	name   string       // seeds H
	days   *specialDays // receives L, W and #
	faults []string
}

func (r *fieldReader) read(text string) uint64 {
	var plain []string
	for item := range strings.SplitSeq(text, ",") {
		rewritten, rule := r.item(strings.ToUpper(item))
		if rule != "" {
			r.fault(item, rule)
		} else if rewritten != "" {
			plain = append(plain, rewritten)
		}
	}
	if len(r.faults) > 0 || len(plain) == 0 {
		return 0
	}
	parsed, err := cron.NewParser(r.place).Parse(strings.Join(plain, ","))
	if err != nil {
		r.fault(text, err.Error())
		return 0
	}
	return r.bits(parsed.(*cron.SpecSchedule))
}

func (r *fieldReader) fault(text, rule string) {
	fault := fmt.Sprintf("has %q in the %s field: %s", text, r.field.name, rule)
	if !slices.Contains(r.faults, fault) {
		r.faults = append(r.faults, fault)
	}
}

// item rewrites one item of the list. It returns the empty string for one that went to r.days, and
// a rule when the item breaks it.
func (r *fieldReader) item(item string) (rewritten, rule string) {
	if item == "" {
		return "", "an item of a list must not be empty"
	}
	base, stepText, hasStep := strings.Cut(item, "/")
	if special, rule := r.special(base); special {
		if rule == "" && hasStep {
			rule = "a step cannot follow L, W or #"
		}
		return "", rule
	}

	step := 1
	if hasStep {
		size := r.max - r.min + 1
		var ok bool
		if step, ok = number(stepText); !ok || step < 1 || step > size {
			rule = fmt.Sprintf("the step after / must be a number from 1 to %d", size)
			if ok && step > size && r.place&(cron.Second|cron.Minute|cron.Hour) != 0 {
				rule += "; for a longer period use @every"
			}
			return "", rule
		}
	}

	switch {
	case base == "*" || base == "?":
		return withStep("*", step), ""
	case strings.HasPrefix(base, "H"):
		return r.hashed(base[1:], hasStep, step)
	default:
		return r.plainRange(base, hasStep, step)
	}
}

// plainRange rewrites "5", "MON-FRI" and "5/20", which means from 5 on.
func (r *fieldReader) plainRange(base string, hasStep bool, step int) (rewritten, rule string) {
	lowText, highText, isRange := strings.Cut(base, "-")
	low, ok := r.value(lowText)
	high := low
	if isRange && ok {
		high, ok = r.value(highText)
	}
	if !ok {
		return "", "must be a number or a range " + r.valueRule()
	}
	if r.place == cron.Dow {
		return weekdayRange(low, high, isRange, hasStep, step)
	}
	if low > high {
		return "", backwards(low, r.max, r.min, high)
	}
	if hasStep && !isRange {
		high = r.max
	}
	return withStep(fmt.Sprintf("%d-%d", low, high), step), ""
}

// weekdayRange takes Sunday as 0 at the start of a range and as 7 at its end, so that FRI-SUN and
// 5-7 are a weekend.
func weekdayRange(low, high int, isRange, hasStep bool, step int) (rewritten, rule string) {
	switch {
	case !isRange:
		low %= 7
		high = low
		if hasStep {
			high = 6
		}
	case low == 7 && high < 7:
		low = 0
	case high == 0 && low > 0:
		high = 7
	}
	if low > high {
		return "", backwards(low, 6, 0, high)
	}
	var days []string
	for day := low; day <= high; day += step {
		days = append(days, strconv.Itoa(day%7))
	}
	return strings.Join(days, ","), ""
}

func backwards(low, last, first, high int) string {
	return fmt.Sprintf("a range must not run backwards: write %d-%d,%d-%d", low, last, first, high)
}

// value reads a number or a name. Day of week has one number more than it has days, 7.
func (r *fieldReader) value(text string) (int, bool) {
	for i, name := range r.names {
		if text == name {
			return r.min + i, true
		}
	}
	n, ok := number(text)
	highest := r.max
	if r.place == cron.Dow {
		highest = 7
	}
	return n, ok && r.min <= n && n <= highest
}

func (r *fieldReader) valueRule() string {
	highest := r.max
	if r.place == cron.Dow {
		highest = 7
	}
	rule := fmt.Sprintf("from %d to %d", r.min, highest)
	if r.names != nil {
		rule += fmt.Sprintf(", or %s to %s", r.names[0], r.names[len(r.names)-1])
	}
	return rule
}

// number reads digits alone, without the signs and underscores that strconv knows.
func number(text string) (int, bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(text, 10, bits.UintSize-1)
	return int(n), err == nil
}

func withStep(base string, step int) string {
	if step == 1 {
		return base
	}
	return base + "/" + strconv.Itoa(step)
}
