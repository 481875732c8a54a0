package schedule

import "strconv"

// everyDay reports whether every day of its months matches.
func (c *calendar) everyDay() bool {
	anyDom := c.dom&starBit != 0 || len(values(c.dom)) == 31
	anyDow := c.dow&starBit != 0 || len(values(c.dow&0x7f)) == 7
	if (c.dom|c.dow)&starBit != 0 {
		return anyDom && anyDow
	}
	return anyDom || anyDow
}

// days says on which days a spec ticks: at a pace, or at certain times.
func (w phrases) days(c *calendar, atPace bool) string {
	months, allMonths := w.months(c)
	inMonth, inWeek := w.daysOfMonth(c, months), w.daysOfWeek(c, months)
	weekdays := c.special.nth == [5]uint8{} && c.special.lastOf == 0 // each of them, not some of a month
	switch {
	case months == "":
		return ""
	case c.everyDay() && allMonths:
		return w.Say("every day")
	case c.everyDay() && atPace:
		return w.Say("in %s", months)
	case c.everyDay():
		return w.Say("every day in %s", months)
	case c.dow&starBit != 0:
		return inMonth
	case c.dom&starBit != 0 && inWeek != "" && weekdays && !allMonths:
		return w.Say("%[1]s in %[2]s", inWeek, months)
	case c.dom&starBit != 0:
		return inWeek
	case !allMonths || inMonth == "" || inWeek == "":
		return ""
	default: // a day that matches either is enough
		return w.Say("%[1]s and %[2]s", inMonth, inWeek)
	}
}

var monthNames = [...]string{
	"", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
}

func (w phrases) months(c *calendar) (text string, all bool) {
	list := values(c.month)
	if len(list) == 12 {
		return w.Say("every month"), true
	}
	if spans := runs(list); len(spans) == 1 && len(list) > 2 {
		return w.Say("%[1]s to %[2]s", w.Say(monthNames[list[0]]), w.Say(monthNames[list[len(list)-1]])), false
	}
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = w.Say(monthNames[m])
	}
	return w.these(names, mostDays), false
}

func (w phrases) daysOfMonth(c *calendar, months string) string {
	var parts []string
	if list := values(c.dom &^ starBit); len(list) > 0 {
		days := w.these(w.spans(texts(list), list), mostDays)
		switch {
		case days == "":
			return ""
		case len(list) == 1:
			parts = append(parts, w.Say("on day %[1]s of %[2]s", days, months))
		default:
			parts = append(parts, w.Say("on days %[1]s of %[2]s", days, months))
		}
	}
	if c.special.last {
		parts = append(parts, w.Say("on the last day of %s", months))
	}
	if c.special.lastWorkday {
		parts = append(parts, w.Say("on the last weekday of %s", months))
	}
	for _, day := range values(uint64(c.special.nearest)) {
		parts = append(parts, w.Say("on the weekday nearest to day %[1]s of %[2]s", strconv.Itoa(day), months))
	}
	const most = 2
	return w.these(parts, most)
}

// spans writes values of which three or more follow each other as one span.
func (w phrases) spans(words []string, list []int) (spans []string) {
	at := 0
	for _, run := range runs(list) {
		n := run[1] - run[0] + 1
		if n > 2 {
			spans = append(spans, w.Say("%[1]s to %[2]s", words[at], words[at+n-1]))
		} else {
			spans = append(spans, words[at:at+n]...)
		}
		at += n
	}
	return spans
}

var (
	weekdayNames   = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	weekdayPlurals = [...]string{"Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays"}
	nthPhrases     = [...]string{
		"on the first %[1]s of %[2]s", "on the second %[1]s of %[2]s", "on the third %[1]s of %[2]s", "on the fourth %[1]s of %[2]s",
		"on the fifth %[1]s of %[2]s",
	}
)

func (w phrases) daysOfWeek(c *calendar, months string) string {
	var parts []string
	const workdays, weekend = 0b0111110, 0b1000001
	switch set := c.dow & 0x7f; set {
	case 0:
	case workdays:
		parts = append(parts, w.Say("on weekdays"))
	case weekend:
		parts = append(parts, w.Say("on weekends"))
	default:
		var names []string
		for _, d := range append(values(set&^1), values(set&1)...) { // Sunday is the last of a week
			names = append(names, w.Say(weekdayPlurals[d]))
		}
		parts = append(parts, w.Say("on %s", w.these(names, mostDays)))
	}
	plain := len(parts) > 0
	for n, set := range c.special.nth {
		for _, d := range values(uint64(set)) {
			parts = append(parts, w.Say(nthPhrases[n], w.Say(weekdayNames[d]), months))
		}
	}
	for _, d := range values(uint64(c.special.lastOf)) {
		parts = append(parts, w.Say("on the last %[1]s of %[2]s", w.Say(weekdayNames[d]), months))
	}
	if plain && len(parts) > 1 {
		return ""
	}
	const most = 2
	return w.these(parts, most)
}
