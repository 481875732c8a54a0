package schedule_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// plan is a cron expression together with what it means, made side by side so that no parser is
// trusted.
type plan struct {
	text           string
	second, minute [60]bool
	hour           [24]bool
	day            [32]bool
	month          [13]bool
	weekday        [7]bool
	anyDay         bool // day of month or day of week restricts nothing
	wildcard       bool
}

func (p *plan) matches(l local) bool {
	if !p.second[l.second] || !p.minute[l.minute] || !p.hour[l.hour] || !p.month[l.month] {
		return false
	}
	if p.anyDay {
		return p.day[l.day] && p.weekday[l.weekday]
	}
	return p.day[l.day] || p.weekday[l.weekday]
}

// onTheMinute takes the field of seconds away.
func (p *plan) onTheMinute() {
	p.second = [60]bool{true}
	if fields := strings.Fields(p.text); len(fields) == 6 {
		p.text = strings.Join(fields[1:], " ")
	}
}

// part is one field: its text, and the values in it.
type part struct {
	text     string
	in       map[int]bool
	wildcard bool // begins with a star
	any      bool // restricts nothing
}

func (p part) into(set []bool) {
	for v := range p.in {
		set[v] = true
	}
}

func newPlan(second, minute, hour, day, month, weekday part) plan {
	p := plan{
		text:     strings.Join([]string{second.text, minute.text, hour.text, day.text, month.text, weekday.text}, " "),
		anyDay:   day.any || weekday.any,
		wildcard: minute.wildcard || hour.wildcard,
	}
	second.into(p.second[:])
	minute.into(p.minute[:])
	hour.into(p.hour[:])
	day.into(p.day[:])
	month.into(p.month[:])
	weekday.into(p.weekday[:])
	return p
}

func every(low, high, step int) part {
	p := part{text: "*", in: map[int]bool{}, wildcard: true, any: step == 1}
	if step > 1 {
		p.text += "/" + strconv.Itoa(step)
	}
	for v := low; v <= high; v += step {
		p.in[v] = true
	}
	return p
}

func values(of ...int) part {
	p := part{in: map[int]bool{}}
	var texts []string
	for _, v := range of {
		p.in[v] = true
		texts = append(texts, strconv.Itoa(v))
	}
	p.text = strings.Join(texts, ",")
	return p
}

// drawPart draws a field. One that names few values finds more that is special about each.
func drawPart(t *rapid.T, label string, low, high int) part {
	value := rapid.IntRange(low, high)
	switch rapid.SampledFrom([]string{"any", "step", "value", "values", "range"}).Draw(t, label) {
	case "any":
		return every(low, high, 1)
	case "step":
		return every(low, high, rapid.IntRange(2, high-low+1).Draw(t, label))
	case "value":
		return values(value.Draw(t, label))
	case "values":
		return values(rapid.SliceOfN(value, 2, 4).Draw(t, label)...)
	default:
		from := value.Draw(t, label)
		to, step := rapid.IntRange(from, high).Draw(t, label), rapid.IntRange(1, 5).Draw(t, label)
		p := part{text: fmt.Sprintf("%d-%d/%d", from, to, step), in: map[int]bool{}}
		for v := from; v <= to; v += step {
			p.in[v] = true
		}
		return p
	}
}

// drawPlan draws a plan that ticks now and then: its months and days are often left open.
func drawPlan(t *rapid.T) plan {
	day, month, weekday := every(1, 31, 1), every(1, 12, 1), every(0, 6, 1)
	switch rapid.SampledFrom([]string{"daily", "daily", "daily", "days", "weekdays", "both"}).Draw(t, "days") {
	case "days":
		day = drawPart(t, "day", 1, 31)
		if slices.Min(slices.Collect(maps.Keys(day.in))) <= 28 { // others may have no month, and be refused
			month = drawPart(t, "month", 1, 12)
		}
	case "weekdays":
		weekday = drawPart(t, "weekday", 0, 6)
	case "both":
		day, weekday = drawPart(t, "day", 1, 31), drawPart(t, "weekday", 0, 6)
	}
	second := values(0)
	if rapid.IntRange(0, 3).Draw(t, "seconds") == 0 {
		second = drawPart(t, "second", 0, 59)
	}
	hour := drawPart(t, "hour", 0, 23)
	if rapid.Bool().Draw(t, "early") {
		hour = drawPart(t, "early hour", 0, 4) // when most clocks change
		if hour.wildcard {
			hour = values(0, 1, 2, 3)
		}
	}
	return newPlan(second, drawPart(t, "minute", 0, 59), hour, day, month, weekday)
}

// exhaustivePlans tick on the minute, at the hours when clocks change and at others, often and
// seldom.
func exhaustivePlans() []plan {
	zero, anyHour := values(0), every(0, 23, 1)
	anyDay, anyMonth, anyWeekday := every(1, 31, 1), every(1, 12, 1), every(0, 6, 1)
	plans := []plan{
		newPlan(zero, zero, anyHour, anyDay, anyMonth, anyWeekday),
		newPlan(zero, every(0, 59, 30), anyHour, anyDay, anyMonth, anyWeekday),
		newPlan(zero, every(0, 59, 7), values(0, 1, 2, 3, 23), anyDay, anyMonth, anyWeekday),
		newPlan(zero, values(15), every(0, 23, 5), anyDay, anyMonth, anyWeekday),
		newPlan(zero, zero, zero, anyDay, anyMonth, anyWeekday),
		newPlan(zero, values(30), values(1), anyDay, anyMonth, anyWeekday),
		newPlan(zero, values(30), values(2), anyDay, anyMonth, anyWeekday),
		newPlan(zero, values(0, 30), values(0, 1, 2, 3, 4, 23), anyDay, anyMonth, anyWeekday),
		newPlan(zero, values(59), values(23), anyDay, anyMonth, values(0, 6)),
		newPlan(zero, values(5, 20, 45), values(2, 3), values(1, 26, 31), values(3, 4, 9, 10, 11, 12), values(0)),
	}
	for i := range plans {
		plans[i].onTheMinute()
	}
	return plans
}
