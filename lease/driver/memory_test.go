package driver_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	drivertest.Run(t, func(*testing.T) driver.Store { return new(driver.Memory) })
}

// Values that are kept for a while are removed; stamps of those that are made later lie above theirs,
// whatever the clock says.
func TestMemoryForgetsWhatIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(driver.Memory)
		put := func(key string, keep time.Duration) driver.Version {
			res := m.Do(t.Context(), []driver.Op{{Key: key, Change: &driver.Change{ID: "x", Data: []byte("x"), Keep: keep}}})[0]
			require.NoError(t, res.Err)
			require.Equal(t, driver.Done, res.Status)
			return res.Version
		}
		keys := func() int {
			list, _, err := m.Scan(t.Context(), "", "", 1e6)
			require.NoError(t, err)
			return len(list)
		}
		put("for.ever", 0)
		last := put("a", 5*time.Minute)
		for i := range 1000 {
			put("a."+strconv.Itoa(i), 5*time.Minute)
			time.Sleep(2 * time.Second)
			require.Less(t, keys(), 200)
		}
		m.Step(-time.Hour)
		require.Greater(t, put("a", 5*time.Minute).Stamp, last.Stamp)
		time.Sleep(70 * time.Minute)
		put("b", 5*time.Minute)
		require.Equal(t, 2, keys())
	})
}

// What is dropped, restored, or not kept any longer is so in the index, too.
func TestMemoryIndexIsThatOfItsValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(driver.Memory)
		base := time.Now().Add(time.Hour)
		put := func(key string, keep time.Duration, due time.Time) {
			c := &driver.Change{From: m.Do(t.Context(), []driver.Op{{Key: key}})[0].Version, ID: key, Data: []byte("x"), Keep: keep, Due: due}
			require.Equal(t, driver.Done, m.Do(t.Context(), []driver.Op{{Key: key, Change: c}})[0].Status)
		}
		list := func(keys ...string) {
			t.Helper()
			due, err := m.Due(t.Context(), "job", []int{driver.ShareOf("job/a"), driver.ShareOf("job/b")}, base, 10)
			require.NoError(t, err)
			var got []string
			for _, d := range due {
				got = append(got, d.Key)
			}
			require.Equal(t, keys, got)
		}
		put("job/a", 0, base)
		restore := m.Snapshot()
		put("job/b", 5*time.Minute, base.Add(-time.Second))
		list("job/b", "job/a")
		time.Sleep(10 * time.Minute)
		put("other", 0, time.Time{})
		list("job/a")
		m.Forget()
		list()
		put("job/b", 0, base)
		restore()
		list("job/a")
	})
}
