package schedule

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/solotick/solotick/internal/wording"
)

// Words describes in words when the schedule ticks, in the local time of its zone, which it does
// not name. Examples are "every day at 02:00", "every 15 minutes", "on weekdays at 09:30". Of a
// schedule that would take a long sentence it returns the spec. Two schedules in one zone with the
// same words have the same ticks: in a zone other than UTC, the words also say that an @every goes
// by UTC, and which rule holds at a clock change, where that is not the usual one.
//
// translate turns a phrase, such as "every %s minutes" or "on weekdays", into another language;
// verbs of arguments may change places, as in "%[2]s %[1]s". A phrase for which it returns "" stays
// English, as all do where translate is nil.
func (s *Schedule) Words(translate func(phrase string) string) string {
	w := phrases{translate}
	text := ""
	switch t := s.ticks.(type) {
	case everyTicks:
		text = w.pace(t.period, "every second", "every minute", "every hour", "every %s seconds", "every %s minutes", "every %s hours")
		if t.phase > 0 {
			text = w.Say("%[1]s, shifted by %[2]s", text,
				w.pace(t.phase, "1 second", "1 minute", "1 hour", "%s seconds", "%s minutes", "%s hours"))
		}
		if s.loc.String() != "UTC" && offsetUnit%t.period != 0 {
			text = w.Say("%s, by UTC", text)
		}
	case atTick:
		text = w.Say("once, at %s UTC", time.Unix(int64(t), 0).UTC().Format(time.DateTime))
	case noTicks:
		if text = w.Say("only when it is triggered"); t.stored {
			text = w.Say("by its schedules in the store")
		}
	case *cronTicks:
		text = w.cron(t, s.loc.String() != "UTC")
	}
	return cmp.Or(text, s.spec)
}

// offsetUnit divides, in seconds, the offset from UTC of every zone of today.
const offsetUnit = 15 * 60

// phrases builds sentences of phrases. A method that returns "" has no words for its argument.
type phrases struct{ wording.Wording }

// pace says a number of seconds in their largest unit, by a phrase for each of one and of several.
func (w phrases) pace(seconds int64, second, minute, hour, nSeconds, nMinutes, nHours string) string {
	one, several, n := second, nSeconds, seconds
	switch {
	case seconds%3600 == 0:
		one, several, n = hour, nHours, seconds/3600
	case seconds%60 == 0:
		one, several, n = minute, nMinutes, seconds/60
	}
	if n == 1 {
		return w.Say(one)
	}
	return w.Say(several, strconv.FormatInt(n, 10))
}

func (w phrases) every(n int, one, several string) string {
	if n == 1 {
		return w.Say(one)
	}
	return w.Say(several, strconv.Itoa(n))
}

// these says a list of at most most words; "" of a longer one.
func (w phrases) these(words []string, most int) string {
	if len(words) == 0 || len(words) > most {
		return ""
	}
	text := words[0]
	for i, word := range words[1:] {
		if i == len(words)-2 {
			text = w.Say("%[1]s and %[2]s", text, word)
		} else {
			text = w.Say("%[1]s, %[2]s", text, word)
		}
	}
	return text
}

// cron says the ticks of a spec, and, where clocks may change, its rule for that.
func (w phrases) cron(t *cronTicks, changes bool) string {
	c, times := &t.calendar, ""
	if _, step := evenly(values(c.hour), 24); !t.wildcard || step == 0 {
		times = w.clocks(c)
	}
	text := w.of(c, times)
	switch usual := times == "" && c.keepsPace(); {
	case text == "" || !changes || t.wildcard == usual:
		return text
	case t.wildcard:
		return w.Say("%s, as a wildcard", text)
	default:
		return w.Say("%s, at fixed times", text)
	}
}

// keepsPace reports whether words of a pace are usually those of a wildcard spec.
func (c *calendar) keepsPace() bool {
	hours := values(c.hour)
	first, step := evenly(hours, 24)
	return len(values(c.minute)) > 1 || len(hours) == 24 || step > 0 && first == 0
}

// of says the ticks of a spec, of which times are those of a day; "" where they come at a pace.
func (w phrases) of(c *calendar, times string) string {
	days := w.days(c, times == "")
	if times != "" && days != "" {
		return w.Say("%[1]s at %[2]s", days, times)
	}
	pace := w.within(c)
	switch {
	case times != "" || pace == "":
		return ""
	case c.everyDay() && len(values(c.month)) == 12:
		return pace
	case days == "":
		return ""
	}
	return w.Say("%[1]s %[2]s", pace, days)
}

// The most items of a list that is still read at a glance.
const (
	mostClocks  = 6
	mostMinutes = 4
	mostDays    = 6
)

// clocks lists the times of a day, where they are few and do not come at a pace.
func (w phrases) clocks(c *calendar) string {
	seconds, minutes, hours := values(c.second), values(c.minute), values(c.hour)
	_, step := evenly(hours, 24)
	if len(seconds) > 1 || len(minutes)*len(hours) > mostClocks || step > 0 && len(hours) > 2 && len(minutes) == 1 && seconds[0] == 0 {
		return ""
	}
	var times []string
	for _, hour := range hours {
		for _, minute := range minutes {
			times = append(times, clock(hour, minute, seconds[0]))
		}
	}
	return w.these(times, mostClocks)
}

func clock(hour, minute, second int) string {
	if second == 0 {
		return fmt.Sprintf("%02d:%02d", hour, minute)
	}
	return fmt.Sprintf("%02d:%02d:%02d", hour, minute, second)
}

// within says how a spec ticks within a day.
func (w phrases) within(c *calendar) string {
	seconds, minutes, hours := values(c.second), values(c.minute), values(c.hour)
	allHours, allMinutes := len(hours) == 24, len(minutes) == 60
	if first, step := evenly(seconds, 60); step > 0 {
		if first > 0 || !allMinutes || !allHours {
			return ""
		}
		return w.every(step, "every second", "every %s seconds")
	}
	switch {
	case len(seconds) > 1:
		return ""
	case seconds[0] > 0 && allMinutes && allHours:
		return w.Say("every minute at second %s", strconv.Itoa(seconds[0]))
	case seconds[0] > 0:
		return ""
	}
	if first, step := evenly(minutes, 60); step > 0 {
		return w.everyMinutes(first, step, hours)
	}
	if len(minutes) == 1 {
		return w.everyHours(minutes[0], hours)
	}
	if !allHours {
		return ""
	}
	list := w.these(texts(minutes), mostMinutes)
	if list == "" {
		return ""
	}
	return w.Say("every hour at minutes %s", list)
}

// everyMinutes is of minutes that come at a pace.
func (w phrases) everyMinutes(first, step int, hours []int) string {
	pace := w.every(step, "every minute", "every %s minutes")
	if len(hours) == 24 {
		if first > 0 {
			return w.Say("%[1]s from minute %[2]s on", pace, strconv.Itoa(first))
		}
		return pace
	}
	last := first + (60-1-first)/step*step
	var windows []string
	for _, run := range runs(hours) {
		windows = append(windows, w.Say("from %[1]s to %[2]s", clock(run[0], first, 0), clock(run[1], last, 0)))
	}
	const most = 3
	if list := w.these(windows, most); list != "" {
		return w.Say("%[1]s %[2]s", pace, list)
	}
	return ""
}

// everyHours is of one minute of several hours.
func (w phrases) everyHours(minute int, hours []int) string {
	if first, step := evenly(hours, 24); step > 0 {
		pace := w.every(step, "every hour", "every %s hours")
		switch {
		case minute == 0 && first == 0:
			return pace
		case step == 1:
			return w.Say("%[1]s at minute %[2]s", pace, strconv.Itoa(minute))
		default:
			return w.Say("%[1]s from %[2]s on", pace, clock(first, minute, 0))
		}
	}
	if list := runs(hours); len(list) == 1 {
		return w.Say("%[1]s %[2]s", w.Say("every hour"), w.Say("from %[1]s to %[2]s", clock(list[0][0], minute, 0), clock(list[0][1], minute, 0)))
	}
	return ""
}

// values returns the members of a set, in order.
func values(set uint64) (list []int) {
	for n, ok := nextBit(set, 0); ok; n, ok = nextBit(set, n+1) {
		list = append(list, n)
	}
	return list
}

// runs returns the first and the last of each series of values that follow each other.
func runs(list []int) (spans [][2]int) {
	for i, n := range list {
		if i > 0 && n == list[i-1]+1 {
			spans[len(spans)-1][1] = n
		} else {
			spans = append(spans, [2]int{n, n})
		}
	}
	return spans
}

// evenly returns the first value and the step of a list that goes round a clock of size values at
// one pace. It returns 0 where the list does not, or has one value.
func evenly(list []int, size int) (first, step int) {
	if len(list) < 2 || size%len(list) != 0 {
		return 0, 0
	}
	first, step = list[0], size/len(list)
	for i, n := range list {
		if n != first+i*step {
			return 0, 0
		}
	}
	return first, step
}

func texts(list []int) []string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return words
}
