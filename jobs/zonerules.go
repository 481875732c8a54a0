package jobs

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// rulesFrom and rulesUntil bound what a revision says of a time zone. They are fixed: a revision
// must not depend on when it is taken, and corrections of the distant past are no other definition.
var (
	rulesFrom  = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	rulesUntil = time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC)
)

// knownRules has what readRules returned, by a zone's name: there are some hundreds, which schedules
// in the store have again and again.
var knownRules sync.Map

// zoneRules returns the offsets of a zone's clock in those years, and when they change. Two
// machines whose zone data differ there disagree on the ticks of one definition. It is empty for
// UTC.
func zoneRules(zone *time.Location) string {
	if known, ok := knownRules.Load(zone.String()); ok {
		return known.(string)
	}
	rules := readRules(zone)
	knownRules.Store(zone.String(), rules)
	return rules
}

func readRules(zone *time.Location) string {
	var rules strings.Builder
	shown := 0
	for t := rulesFrom.In(zone); t.Before(rulesUntil); {
		if _, offset := t.Zone(); offset != shown {
			fmt.Fprintf(&rules, " %d%+d", t.Unix(), offset)
			shown = offset
		}
		_, end := t.ZoneBounds()
		switch {
		case end.IsZero():
			return rules.String()
		case !end.After(t): // package time ends a span too early on the last day of a leap year that is to come
			end = t.Add(24 * time.Hour)
		}
		t = end
	}
	return rules.String()
}
