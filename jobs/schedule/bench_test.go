package schedule_test

import (
	"testing"
	"time"

	"github.com/solotick/solotick/jobs/schedule"
)

func BenchmarkNext(b *testing.B) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(20, 0, 0)
	for _, spec := range []string{"* * * * *", "*/30 * * * *", "30 2 * * *", "0 0 29 2 *", "@every 90s"} {
		for _, zone := range []string{"UTC", "America/New_York"} {
			b.Run(spec+"/"+zone, func(b *testing.B) {
				s := parse(b, spec, location(b, zone))
				b.ReportAllocs()
				tick := from
				for b.Loop() {
					if tick = s.Next(tick); tick.After(to) {
						tick = from
					}
				}
			})
		}
	}
}

func BenchmarkParse(b *testing.B) {
	loc := location(b, "America/New_York")
	for b.Loop() {
		if _, err := schedule.Parse("*/30 9-17 * * MON-FRI", loc, "job"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMinInterval(b *testing.B) {
	loc := location(b, "America/New_York")
	for _, spec := range []string{"*/30 * * * *", "30 2 * * *", "@monthly"} {
		b.Run(spec, func(b *testing.B) {
			for b.Loop() {
				parse(b, spec, loc).MinInterval()
			}
		})
	}
}
