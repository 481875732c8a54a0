package schedules_test

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/schedules"
)

func Example() {
	ctx := context.Background()
	report, err := jobs.New("customer-report", "", func(_ context.Context, run jobs.Run) error {
		fmt.Println("report of", run.Key, "as", string(run.Payload))
		return nil
	}, jobs.WithSchedules(), jobs.WithTimezone("Asia/Shanghai"))
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := schedules.Of(new(memlease.Store), report) // a scheduler on this store runs the job
	if err != nil {
		fmt.Println(err)
		return
	}
	acme := schedules.Schedule{Key: "acme", Cron: "0 7 * * 1-5", Payload: "pdf"}
	for range 2 {
		result, err := all.Put(ctx, acme)
		fmt.Println(result.Status, err)
	}
	_, err = all.Put(ctx, schedules.Schedule{Key: "acme-late", At: time.Unix(0, 0)})
	fmt.Println(err)
	row, err := all.Get(ctx, "acme")
	fmt.Println(row.Cron, row.Timezone, err)
	// Output:
	// created <nil>
	// unchanged <nil>
	// schedule "acme-late": at: "@at 1970-01-01T00:00:00Z" must have a tick to come: all are over, or not between start and end
	// 0 7 * * 1-5 Asia/Shanghai <nil>
}
