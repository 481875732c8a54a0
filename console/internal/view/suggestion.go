package view

import (
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs/schedule"
)

// suggestion is a change to a job that spreads such jobs over a time; the zero suggestion is none.
type suggestion struct {
	text  string
	start func(tick time.Time) int64 // when the tick would start, in Unix s
}

// suggest returns a schedule with H in the minute field, where that has one value or every nth of
// all. Otherwise it returns a jitter: an eighth of the time between two ticks, five minutes at
// most. A job that is spread already, or comes more often than each minute, has none.
func (j *loadJob) suggest() suggestion {
	const most = 5 * time.Minute
	spread, period := withHash(j.schedule.String())
	if j.jitter > 0 || spread == spreadAlready {
		return suggestion{}
	}
	if s, err := schedule.Parse(spread, j.schedule.Location(), j.name); err == nil {
		return suggestion{"schedule: \"" + spread + "\"", func(tick time.Time) int64 {
			minute := tick.In(s.Location()).Minute() % period
			return s.Next(tick.Add(-time.Duration(minute)*time.Minute - time.Second)).Unix()
		}}
	}
	if j.schedule.MinInterval() < time.Minute {
		return suggestion{}
	}
	jitter := min(most, j.schedule.MinInterval()/8).Truncate(time.Second)
	return suggestion{"jitter: " + short(jitter), func(tick time.Time) int64 { return wire.Due(j.name, tick.UnixMilli(), jitter) / 1000 }}
}

var spreadDescriptors = map[string]string{
	"@hourly": "H * * * *", "@daily": "H 0 * * *", "@midnight": "H 0 * * *", "@weekly": "H 0 * * 0", "@monthly": "H 0 1 * *",
	"@yearly": "H 0 1 1 *", "@annually": "H 0 1 1 *",
}

// spreadAlready is the answer of withHash for a spec with H in its minute field.
const spreadAlready = "H"

// withHash puts H in the minute field of a spec, and returns the period in minutes within which
// that moves a tick. It returns "" where the schedule would be of another kind.
func withHash(spec string) (spread string, period int) {
	if spread = spreadDescriptors[strings.ToLower(spec)]; spread != "" {
		return spread, 60
	}
	fields := strings.Fields(spec)
	at := len(fields) - 5
	if strings.HasPrefix(spec, "@") || at < 0 || at > 1 || at == 1 && fields[0] != "0" {
		return "", 0
	}
	minute := fields[at]
	every, _ := strings.CutPrefix(minute, "*/")
	n, err := strconv.Atoi(every)
	switch {
	case strings.HasPrefix(strings.ToUpper(minute), "H"):
		return spreadAlready, 0
	case err != nil || n == 1 && every != minute:
		return "", 0
	case every == minute:
		fields[at], n = "H", 60
	default:
		fields[at] = "H/" + every
	}
	return strings.Join(fields, " "), n
}
