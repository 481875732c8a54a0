package fleet

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/durations"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/internal/wording"
)

const (
	dateLayout  = "2006-01-02 15:04:05 -0700"
	clockLayout = "15:04:05"
)

// String is the explanation for people: job, tick, verdict and text.
func (e Explanation) String() string {
	if e.Tick.IsZero() {
		return fmt.Sprintf("%s: %s", e.Job, e.Text)
	}
	return fmt.Sprintf("%s, tick of %s, %s: %s", e.Job, e.Tick.Format(layout(dateLayout, e.Tick)), wire.Words(e.Verdict), e.Text)
}

// layout adds milliseconds where a time has some.
func layout(base string, t time.Time) string {
	if t.Truncate(time.Millisecond).Equal(t.Truncate(time.Second)) {
		return base
	}
	return strings.Replace(base, ":05", ":05.000", 1)
}

// at formats the time of a tick, exactly.
func (r *reasoner) at(t time.Time) string { return t.In(r.zone).Format(layout(r.shortest(t), t)) }

// when formats the time of an event, to the second.
func (r *reasoner) when(t time.Time) string { return t.In(r.zone).Format(r.shortest(t)) }

func (r *reasoner) shortest(t time.Time) string {
	if t.In(r.zone).Format(time.DateOnly+" -0700") == r.tick.Format(time.DateOnly+" -0700") {
		return clockLayout
	}
	return dateLayout
}

// rough shortens a duration to what people want to know of it.
func rough(d time.Duration) string {
	unit := time.Millisecond
	switch {
	case d >= time.Minute:
		unit = time.Second
	case d >= 10*time.Second:
		unit = 100 * time.Millisecond
	}
	text := durations.Short(d.Round(unit))
	if days := d / (24 * time.Hour); days >= 2 {
		text = strconv.Itoa(int(days)) + "d" + durations.Short((d % (24 * time.Hour)).Round(time.Minute))
	}
	return text
}

// said makes the parts that several sentences share.
type said struct{ wording.Wording }

// these lists names in words.
func (w said) these(names []string) string {
	const most = 5
	if len(names) > most {
		return w.Say("%s and %d more", strings.Join(names[:most], w.Say(", ")), len(names)-most)
	}
	if n := len(names); n > 1 {
		return w.Say("%s and %s", strings.Join(names[:n-1], w.Say(", ")), names[n-1])
	}
	return strings.Join(names, "")
}

func ids(replicas []Replica) []string {
	list := make([]string, len(replicas))
	for i, r := range replicas {
		list[i] = r.ID
	}
	return list
}

// quoted ends a sentence with the first line of a text from elsewhere. The others are for below.
func (w said) quoted(text string) string {
	if text == "" {
		return w.Say(".")
	}
	first, _, _ := strings.Cut(text, "\n")
	return w.Say(": %s.", strconv.Quote(first))
}

// below is the lines of a text after the first, each on a line of its own and indented.
func below(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i > 0 {
			b.WriteString("\n    " + line)
		}
	}
	return b.String()
}

// because adds somebody's reason to a sentence that goes on.
func (w said) because(text string) string {
	if text == "" {
		return ""
	}
	return w.Say(" because %s", strconv.Quote(text))
}
