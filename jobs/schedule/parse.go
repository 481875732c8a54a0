package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// descriptors are the names that stand for a cron expression.
var descriptors = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// Parse reads a spec; the package comment says what one looks like. Its fields are read in loc, nil
// meaning UTC. The name is the job's: it decides what H stands for, and nothing else.
//
// The error states every fault as a rule in words, fit to follow the quoted spec, such as
//
//	must have 5 fields, or 6 with leading seconds, and has 3
//
// and joins several with "; ". It is meant for people; there is nothing in it to branch on.
func Parse(spec string, loc *time.Location, name string) (*Schedule, error) {
	if loc == nil {
		loc = time.UTC
	}
	words := strings.Fields(spec)
	spec = strings.Join(words, " ")
	if len(words) > 0 {
		if zone := strings.ToUpper(words[0]); strings.HasPrefix(zone, "TZ=") || strings.HasPrefix(zone, "CRON_TZ=") {
			return nil, errors.New("must not name a time zone: use jobs.WithTimezone")
		}
	}

	var t ticks
	var err error
	if strings.HasPrefix(spec, "@") {
		t, err = parseDescriptor(words, loc, name)
	} else {
		t, err = parseCron(words, loc, name)
	}
	if err != nil {
		return nil, err
	}
	return newSchedule(spec, loc, t), nil
}

func parseDescriptor(words []string, loc *time.Location, name string) (ticks, error) {
	switch keyword := strings.ToLower(words[0]); keyword {
	case "@every":
		return parseEvery(words[1:])
	case "@at":
		return parseAt(words[1:])
	case "@triggered", "@stored":
		if len(words) > 1 {
			return nil, errors.New("must have nothing after " + keyword)
		}
		return noTicks{stored: keyword == "@stored"}, nil
	case "@reboot":
		return nil, errors.New("must not be @reboot: a fleet has no reboot; use @every for a regular run or @at for a single one")
	default:
		expression, known := descriptors[keyword]
		if !known {
			return nil, errors.New("must be one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, " +
				"@every DURATION, @at TIME, @triggered, @stored, or have 5 or 6 fields")
		}
		if len(words) > 1 {
			return nil, fmt.Errorf("must have nothing after %s", words[0])
		}
		return parseCron(strings.Fields(expression), loc, name)
	}
}

func parseCron(words []string, loc *time.Location, name string) (ticks, error) {
	switch len(words) {
	case 5:
		words = append([]string{"0"}, words...)
	case 6:
	default:
		return nil, fmt.Errorf("must have 5 fields, or 6 with leading seconds, and has %d", len(words))
	}

	var faults []string
	var bits [6]uint64
	var days specialDays
	for i, text := range words {
		r := fieldReader{field: &fields[i], name: name, days: &days}
		bits[i] = r.read(text)
		faults = append(faults, r.faults...)
	}
	if len(faults) > 0 {
		return nil, errors.New(strings.Join(faults, "; "))
	}

	c := &cronTicks{
		calendar: calendar{
			second: bits[0], minute: bits[1], hour: bits[2],
			dom: bits[3], month: bits[4], dow: bits[5], special: days,
		},
		zone:     zone{loc},
		wildcard: startsWithStar(words[1]) || startsWithStar(words[2]),
	}
	if !c.calendar.everFires() {
		return nil, errors.New("never fires: none of its months has a day that it names")
	}
	return c, nil
}
