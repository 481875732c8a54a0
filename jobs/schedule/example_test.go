package schedule_test

import (
	"fmt"
	"time"

	"github.com/solotick/solotick/jobs/schedule"
)

func ExampleParse() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := schedule.Parse("0 2 * * MON-FRI", berlin, "nightly-report")
	if err != nil {
		fmt.Println(err)
		return
	}
	tick := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	for range 3 {
		tick = s.Next(tick)
		fmt.Println(tick)
	}
	// Output:
	// 2026-01-02 01:00:00 +0000 UTC
	// 2026-01-05 01:00:00 +0000 UTC
	// 2026-01-06 01:00:00 +0000 UTC
}

// The error says every rule that is broken, in words fit to follow the spec.
func ExampleParse_refused() {
	for _, spec := range []string{"* * *", "61 25 * * *", "0 0 30 2 *", "@every 500ms"} {
		_, err := schedule.Parse(spec, nil, "nightly-report")
		fmt.Printf("%q %v\n", spec, err)
	}
	// Output:
	// "* * *" must have 5 fields, or 6 with leading seconds, and has 3
	// "61 25 * * *" has "61" in the minute field: must be a number or a range from 0 to 59; has "25" in the hour field: must be a number or a range from 0 to 23
	// "0 0 30 2 *" never fires: none of its months has a day that it names
	// "@every 500ms" has the period "500ms", which must be whole seconds
}

// H spreads jobs over an hour, a night or a week: which minute it stands for depends on the job's name.
func ExampleParse_hashed() {
	midnight := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for _, job := range []string{"invoices", "reminders", "statements"} {
		s, err := schedule.Parse("H H(1-4) * * *", nil, job)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(job, s.Next(midnight).Format("15:04"))
	}
	// Output:
	// invoices 03:10
	// reminders 03:17
	// statements 03:06
}

func ExampleSchedule_ClockChanges() {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		fmt.Println(err)
		return
	}
	from := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for _, spec := range []string{"30 2 * * *", "30 1 * * *", "*/30 * * * *"} {
		s, err := schedule.Parse(spec, newYork, "nightly-report")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s)
		for _, change := range s.ClockChanges(from, from.AddDate(1, 0, 0)) {
			fmt.Println(" ", change)
		}
	}
	// Output:
	// 30 2 * * *
	//   02:30 on 2026-03-08 does not exist in America/New_York, where the clock goes from 02:00 to 03:00: the tick runs at 03:00 (2026-03-08T07:00:00Z)
	// 30 1 * * *
	//   01:30 on 2026-11-01 comes twice in America/New_York, where the clock goes back from 02:00 to 01:00: the tick runs once, the first time (2026-11-01T05:30:00Z)
	// */30 * * * *
}
