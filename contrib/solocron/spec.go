package solocron

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// zoned is a schedule whose ticks are in the time zone of the time that is asked for, as robfig's.
type zoned struct{ Schedule }

// Next implements Schedule.
func (z zoned) Next(t time.Time) time.Time {
	next := z.Schedule.Next(t)
	if next.IsZero() {
		return next
	}
	return next.In(t.Location())
}

// neverFires reports whether robfig takes a schedule that names no day of any year. It is how a job
// is switched off, which package jobs refuses.
func neverFires(spec string) bool {
	parser := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	s, err := parser.Parse(spec)
	return err == nil && s.Next(time.Unix(0, 0)).IsZero()
}

// specOf writes a schedule that robfig/cron has read as text again.
func specOf(schedule Schedule) (string, error) {
	switch s := schedule.(type) {
	case cron.ConstantDelaySchedule:
		return "@every " + s.Delay.String(), nil
	case *cron.SpecSchedule:
		return textOf(s)
	}
	return "", fmt.Errorf("schedule: a %T must be one that cron.ParseStandard or cron.Every has made: replicas agree on a schedule by its text", schedule)
}

func textOf(s *cron.SpecSchedule) (string, error) {
	if s.Location == time.Local {
		return "", errors.New("schedule: its time zone is the machine's, and must be one that all replicas know by its name: begin it with CRON_TZ=")
	}
	var fields []string
	for _, f := range []struct {
		bits      uint64
		low, high int
	}{{s.Second, 0, 59}, {s.Minute, 0, 59}, {s.Hour, 0, 23}, {s.Dom, 1, 31}, {s.Month, 1, 12}, {s.Dow, 0, 6}} {
		fields = append(fields, field(f.bits, f.low, f.high))
	}
	text := strings.Join(fields, " ")
	if s.Location != nil {
		text = "CRON_TZ=" + s.Location.String() + " " + text
	}
	return text, nil
}

// field is the list of a field's values, or a star for one that restricts nothing.
func field(bits uint64, low, high int) string {
	const star = 1 << 63
	if bits&star != 0 {
		return "*"
	}
	var values []string
	for v := low; v <= high; v++ {
		if bits&(1<<uint(v)) != 0 {
			values = append(values, strconv.Itoa(v))
		}
	}
	return strings.Join(values, ",")
}
